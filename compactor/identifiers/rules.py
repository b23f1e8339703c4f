"""How identifiers are written: the patterns that `identifiers` applies, and the words they need.

Every quantifier is bounded or possessive, and every pattern begins with a literal, a digit or a
bounded look at one place, so that no text takes more than linear time. Word boundaries are those of
scripts that use spaces: a Chinese character may stand right beside an identifier.
"""

from __future__ import annotations

import re
from enum import StrEnum


class IdentifierKind(StrEnum):
    """What an identifier is."""

    URL = "url"
    EMAIL = "email"
    HOST = "host"
    PATH = "path"
    UUID = "uuid"
    HASH = "hash"
    REFERENCE = "reference"  # the number of an order, a ticket, a booking, a customer, a device
    PHONE = "phone"
    AMOUNT = "amount"  # with its currency
    DATE = "date"
    TIME = "time"
    VERSION = "version"
    CODE = "code"  # a name in backticks, or a colour
    QUOTED = "quoted"  # a name in quotation marks


# Scripts with spaces between words; the others are no part of a word here.
_SPACED = "A-Za-z\u00aa-\u02af\u0370-\u052f\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3"
WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_LEFT = rf"(?<![{_SPACED}0-9_])"
_RIGHT = rf"(?![{_SPACED}0-9_])"

# --- addresses ---
_URL_END = (
    r"\s\x01-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    r"<>\"'`|\\^{}\u2018-\u201f\u00ab\u00bb\u3000-\u9fff\uff00-\uffef"
)
URL = re.compile(
    rf"{_LEFT}(?:[a-zA-Z][a-zA-Z0-9+.-]{{1,20}}://[^{_URL_END}]{{1,2000}}"
    rf"|[\w.-]{{1,40}}@[\w-]{{1,60}}(?:\.[\w-]{{1,60}}){{1,6}}:(?!\d+\b)[^{_URL_END}:]{{1,300}})",
    re.ASCII,
)
EMAIL = re.compile(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}")
_SAFE_TLD = (
    "com|org|net|io|dev|app|ai|co|cloud|local|internal|intranet|lan|home|corp|box|example|test"
    "|localhost|info|biz|edu|gov|int|tech|online|xyz|de|eu|uk|cn|jp|fr|nl|pl|ru|br|kr|tw|hk|ca|au"
    "|ch|se|dk|fi|cz|pt|gr|ie|il|tr|ua|mx|nz|za|tv|gg"
)
_WORD_TLD = "it|in|me|to|at|us|be|no|is|es|so|am|fm|ly|sh|ws|st|re|id|my"  # words, or file endings
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = rf"(?:(?:{_LABEL}\.){{1,8}}(?:{_SAFE_TLD})|(?:{_LABEL}\.){{2,8}}(?:{_WORD_TLD}))"
_IPV4 = r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
HOST = re.compile(
    rf"(?:(?!(?:self|this|cls|req|res|module|process|obj|window)\.){_DOMAIN}(?::\d{{2,5}})?|localhost:\d{{2,5}}"
    rf"|{_IPV4}(?::\d{{1,5}}|/\d{{1,2}})?"
    r"|(?=.{0,16}\d)(?=.{0,36}::|(?:[^:]{1,4}:){7})(?:[0-9a-f]{3,4}:)(?:[0-9a-f]{0,4}:){1,6}"
    r"[0-9a-f]{0,4}|(?=.{0,16}\d)(?:[0-9a-f]{2}:){5}[0-9a-f]{2})",
    re.IGNORECASE | re.ASCII,
)
BARE_URL = re.compile(
    rf"(?:(?:{_LABEL}\.){{1,8}}(?:{_SAFE_TLD}|{_WORD_TLD})|localhost|{_IPV4})(?::\d{{2,5}})?"
    r"/(?!\d{1,2}\b$)\S{0,400}",
    re.IGNORECASE,
)

# --- files ---
_ENDINGS = (
    "pyi?|ipynb|[cm]?[jt]sx?|jsonl?|md|rst|txt|csv|tsv|toml|ya?ml|ini|cfg|conf|sh|bat|ps1|rs|go|c|h"
    "|cc|cpp|hpp|cs|java|kts?|swift|rb|php|lua|sql|html?|s?css|less|vue|xml|log|lock|pdf|docx?|xlsx?"
    "|pptx?|od[tsp]|rtf|pages|numbers|key|png|jpe?g|gif|svg|webp|heic|bmp|ico|psd|mp[34]|m4a|wav|mov"
    "|avi|mkv|zip|tar|t?gz|bz2|xz|7z|rar|db|sqlite3?|bak|env|tf|proto|gradle|epub|ics|eml|pem|crt|exe|dmg|apk"
)
_ROOTS = "tmp|etc|var|opt|home|usr|mnt|srv|root|data|dev|proc|sys|bin|lib|media|workspace"
_NAME = r"[^\s/\\:*?\"'`<>|,;()\[\]{}]"
FILE = re.compile(rf"(?=[^.]|\.\w)[\w.@+-]{{0,120}}\w\.(?:{_ENDINGS})", re.IGNORECASE)
DOTFILE = re.compile(r"\.(?:env|git|npm|bash|zsh|vim|docker|editor|eslint|prettier)[\w.-]{0,20}")
FRAMEWORK = re.compile(
    r"(?:node|next|vue|nuxt|three|express|react|d3|chart|p5)\.js|(?:console|math)\.log",
    re.IGNORECASE,
)
SPACED_FILE = re.compile(rf"[^/\\:*?\"<>|\n]{{1,100}}\.(?:{_ENDINGS})", re.IGNORECASE)
PATH = re.compile(
    rf"(?:~|\.{{1,2}})/(?:{_NAME}{{1,120}}/){{0,30}}{_NAME}{{0,120}}"
    rf"|/(?:{_ROOTS})/?|/(?:{_NAME}{{1,120}}/){{1,30}}(?:{_NAME}{{1,120}})?"
    rf"|/?(?:{_NAME}{{1,120}}/){{0,30}}{_NAME}{{1,120}}\.(?:{_ENDINGS})"
    rf"|(?=[^/]{{1,120}}/[^/]{{1,120}}/)(?=[^\s]{{0,200}}[-_.0-9])(?:{_NAME}{{1,120}}/){{2,30}}"
    rf"{_NAME}{{0,120}}"
    rf"|[A-Za-z]:\\(?!$)(?:{_NAME}{{1,120}}\\){{0,30}}{_NAME}{{0,120}}"
    rf"|\\\\{_NAME}{{1,60}}(?:\\{_NAME}{{1,120}}){{1,30}}",
    re.IGNORECASE,
)
# A path with spaces, or with characters of a script without spaces, in running text.
ODD_PATH = re.compile(
    rf"(?<![\w])[A-Za-z]:\\(?:[\w .()-]{{1,60}}\\){{1,12}}[\w.()-]{{1,80}}(?<!\.)"
    rf"|(?<![\w/.:~])(?:(?:~|\.{{1,2}})?/|[A-Za-z]:\\)(?:[\w.@+{WIDE}-]{{1,100}}[/\\]){{1,20}}"
    rf"[\w.@+{WIDE}-]{{1,100}}?\.(?:{_ENDINGS})(?![A-Za-z0-9_])",
    re.ASCII,
)
LINE_NUMBER = re.compile(r":\d{1,7}(?:[-:]\d{1,7}){0,2}:?$")

# --- codes ---
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
HASH = re.compile(
    r"(?=.{0,40}[0-9])(?:(?=.{0,40}[a-f])(?=(?:[a-f]{0,12}[0-9]){2})[0-9a-f]{7,40}"
    r"|(?=.{0,40}[A-F])(?:[0-9A-F]{32}|[0-9A-F]{40})|[0-9a-fA-F]{64}|[0-9a-f]{128}"
    r"|(?:sha1|sha256|sha512|md5)[:-][0-9a-f]{8,128})"
)
VERSION = re.compile(
    r"v\d{1,5}(?:\.\d{1,6}){1,3}(?:[-+.]?[a-z0-9][a-z0-9.-]{0,24})?"
    r"|\d{1,4}\.\d{1,5}\.\d{1,6}(?:[-+.]?[a-z0-9][a-z0-9.-]{0,24})?",
    re.IGNORECASE | re.ASCII,
)
COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")
NUMBER = re.compile(r"#\d{2,20}|\d{6,20}|\d{1,12}(?:-\d{1,12}){1,5}", re.ASCII)
CODE_WORD = re.compile(r"#?[^\W_]\w{0,39}(?:[-/.][^\W_]\w{0,39}){0,6}")
NO_CODE = re.compile(
    r"(?:utf|sha|iso|aes|rsa|md|ipv|covid|http|tls|ssl|h|hs|rs|es|gpt|rfc|base|int|uint|float|x|gen"
    r"|py|web|top|mp|cp|win|wifi|ean|din)[-_/]?\d{1,5}(?:-\d{1,2})?[a-z]?"
    r"|\d{1,6}(?:[-./x]\d{1,6}){0,3}[-./]?[^\W\d_]{1,12}|q[1-4][-/]?(?:20)?\d\d|(?:fy|h[12])[-/]?(?:20)?\d\d"
    r"|\d{1,5}[kmbgtx](?:b|hz|bps)?|(?:call|toolu|chatcmpl|msg|resp|fc)_\w{6,}"
    r"|\d{4}-\d{2}(?:-\d{2})?(?:t.{0,30})?|\d{1,5}-\d{1,5}",
    re.IGNORECASE,
)
BETWEEN = re.compile(r"[:=?&]")
RUN = re.compile(rf"[{_SPACED}0-9_@/\\.~+#:%?=&-]{{2,}}+")

# --- figures ---
_NUMBER_LEFT = rf"(?<![{_SPACED}0-9_.:/-])(?<!\d,)"  # a comma behind anything else separates
_GAP = r"[^\S\n]?"  # no figure goes on in another line
_GROUP = r"[.,'\u2019\u00a0\u202f\u2009 ]"
_CENTS = r"(?:[.,]\d{1,2}(?!\d))?"
_FIGURE = (
    r"\d{1,2}(?:,\d\d){1,4},\d{3}(?!\d)"  # as in India
    rf"|\d{{1,3}}(?:{_GROUP}\d{{3}}(?!\d)){{1,5}}{_CENTS}|\d{{1,12}}{_CENTS}"
)
_SIGN = r"(?:(?:US|CA|AU|NZ|HK|NT|R)?\$|[€£¥\uffe5₹₩₽₺₪฿₫₴₱])"
_UNIT = (
    "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|RUB|TRY|BRL|KRW|HKD|SGD|AED|SAR"
)
_SCALE = (
    r"(?:[ \u00a0]?(?:k|M|mn|bn|Mio\.|Mrd\.|million|billion|lakh|crore|млн|тыс\.?)(?![A-Za-z])"
    r"|[万萬億亿千])"
)
_MONEY_WORD = (
    "dollars?|euros?|bucks|cents?|pounds? sterling|francs?|Franken|yen|yuan|rupees?|pesos?|roubles?"
    r"|rubles?|reais|zł|kr|\u0440\u0443\u0431\.?(?!\w)|рубл(?:ей|я|ь)|евро|دولار|يورو|ريال|درهم|שקל"
)
AMOUNT = re.compile(
    rf"(?:{_SIGN}|{_LEFT}(?:{_UNIT}|Rs\.?)){_GAP}(?:{_FIGURE})(?:\.[-\u2013]{{1,2}})?{_SCALE}?(?!\d)"
    rf"|{_NUMBER_LEFT}(?:{_FIGURE}){_SCALE}?{_GAP}(?:{_SIGN}(?!\d)"
    rf"|(?:{_UNIT}|{_MONEY_WORD}){_RIGHT}"
    r"|(?:人民币|美元|欧元|歐元|日元|港元|英镑|元|块钱|块|塊|円|원))",
    re.IGNORECASE,
)
_ENGLISH_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_OTHER_MONTH = (
    r"(?:Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Okt|Dezember|Dez"
    r"|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro"
    r"|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
    r"|يناير|فبراير|مارس|أبريل|ابريل|مايو|يونيو|يوليو|أغسطس|اغسطس|سبتمبر|أكتوبر|اكتوبر|نوفمبر|ديسمبر)"
)
MONTH = rf"(?:{_ENGLISH_MONTH}|{_OTHER_MONTH}){_RIGHT}"
_YEAR = r"(?:19|20)\d\d(?!\d)"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
DATE = re.compile(
    rf"{_NUMBER_LEFT}{_YEAR}([-/.])(?:0?[1-9]|1[0-2])\1{_DAY}(?!\d)"
    r"(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{4}年\s?\d{1,2}月(?:\s?\d{1,2}[日号號])?|(?<!\d)\d{1,2}月\s?\d{1,2}[日号號]"
    rf"|{_NUMBER_LEFT}{_DAY}(?:st|nd|rd|th|er|\.|º)?(?: of| de)? ?{MONTH}(?:\.?,? (?:de )?{_YEAR})?"
    rf"|{_LEFT}{MONTH}\.? {_DAY}(?:st|nd|rd|th)?(?![\d:]|[.,]\d)(?:,? {_YEAR})?"
    rf"|{_LEFT}{MONTH}\.?(?: de)? {_YEAR}"
    rf"|{_NUMBER_LEFT}(?:0?[1-9]|[12]\d|3[01])([./-])(?:0?[1-9]|1[0-2])\2{_YEAR}"
    rf"|{_NUMBER_LEFT}[0-3]\d\.[01]\d\.\d\d(?![\d.])"
    rf"|{_NUMBER_LEFT}(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])/{_YEAR}"
    r"|(?:(?<=\b[Aa][mb] )|(?<=\b(?:[Vv]om|[Bb]is|[Zz]um|den|dem|der|und) )|(?<=\b[Ss]eit ))"
    r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?!\d)"
)
_HOUR = r"(?:[01]?\d|2[0-3])"
_HALF = rf"{_GAP}[ap](?:\.m\.|m(?![A-Za-z]))"
_PART_OF_DAY = "上午|下午|早上|晚上|中午|凌晨|傍晚|午前|午後|今晚|明早"
TIME = re.compile(
    rf"(?<![{_SPACED}0-9_.:/+])(?<!\d,){_HOUR}:[0-5]\d(?!\d|[:.]\d)(?:{_HALF}|{_GAP}Uhr|{_GAP}h(?![A-Za-z]))?"
    rf"|(?:{_PART_OF_DAY}){_GAP}{_HOUR}(?::[0-5]\d|[点點时時](?:半|一刻|[0-5]?\d分?|钟|整)?)"
    rf"|(?<!\d){_HOUR}(?:[点點](?:半|[0-5]?\d分|钟|鐘|整)|[时時](?:半|[0-5]?\d分|(?![间間])))"
    rf"|{_NUMBER_LEFT}(?:1[0-2]|0?[1-9])(?:[:.][0-5]\d)?{_HALF}"
    rf"|{_NUMBER_LEFT}{_HOUR}(?:[.:][0-5]\d)?{_GAP}Uhr(?![{_SPACED}])"
    rf"|{_NUMBER_LEFT}{_HOUR}{_GAP}h{_GAP}[0-5]\d(?!\d)",
    re.IGNORECASE,
)
PHONE = re.compile(
    rf"(?<![{_SPACED}0-9_+])\+\d[\d ()./-]{{6,18}}\d(?!\d)"
    r"|(?<![\d(])\(\d{2,5}\)[ -]?\d{3,4}[ -]?\d{3,5}(?!\d)"
    rf"|(?<![{_SPACED}0-9_./#-])(?:0\d{{2,4}}[ /-]\d{{5,8}}|0\d{{1,4}}-\d{{2,4}}-\d{{4}}"
    r"|0\d{1,4}(?: \d{2,4}){2,4}"
    r"|1[3-9]\d{9}|\d{3}[-.]\d{3}[-.]\d{4})(?![\d-])",
    re.ASCII,
)

# --- what a word ahead tells ---
_THING = (
    r"order|ticket|invoice|case|booking|customer|tracking|serial|account|reservation|confirmation"
    r"|certificate|parcel|contract|claim|incident|issue|PR|pull request|merge request|MR|card"
    r"|policy|member(?:ship)?|passport|reference|ref|user|patient|flight|train|bus|voucher|coupon|error"
    r"|build|job|run|project|request|transaction|payment|shipment|receipt|quote"
    r"|Bestellung|Rechnung|Vertrag|Auftrag|Kunde|Vorgang|Sendung|Flug|Zug|Fall"
    r"|commande|facture|dossier|vol|contrat|pedido|factura|vuelo|reserva|заказ\w?|договор\w?|счёт|рейс"
)
_SHOWN = r"(?:no\.?|nr\.?|num(?:ber|mer)?|n°|nº|№|id|code|#|ending in|ending with)"
_NUMBER_WORD = (
    r"(?:Bestell|Kunden|Rechnungs|Auftrags|Vertrags|Mitglieds|Zähler|Vorgangs|Sendungs|Serien|Artikel)"
    r"nummer"
)
_LINK = r"(?:(?:\s?[:\uff1a]\s{0,2}|\s(?:is|was|ist|lautet|es|est)\s|\s)\"?)"
_TELLING = (
    r"(?P<id>\d{2,6}(?: \d{2,6}){1,6}(?![\w/-]|[.,:]\d| \d)"  # in groups: all of them, or nothing
    r"|(?!\d{1,3} \d)(?=[\w/-]{0,20}\d)#?[^\W_](?:[\w/-]{0,38}[^\W_])?(?![\w/-]|[.,:]\d)"
    r"|(?-i:[A-Z]{6}(?![\w-])))"
)
LED_REFERENCE = re.compile(
    rf"{_LEFT}(?:(?:{_THING})s?\s{{0,2}}{_SHOWN}|{_NUMBER_WORD}|{_SHOWN}(?<=[.°º№r]))"
    rf"{_LINK}{{0,2}}{_TELLING}"
    r"|(?:编号|編號|单号|單號|订单号?|訂單號?|番号|号码|號碼|工单|流水号)(?:是|为|は|[:\uff1a])?\s?"
    r"(?P<wide>#?[A-Za-z0-9][A-Za-z0-9/-]{2,38}(?![A-Za-z0-9-]))",
    re.IGNORECASE,
)
LOOSE_REFERENCE = re.compile(
    rf"{_LEFT}(?:{_THING})\s(?P<id>#\d{{1,20}}|\d{{4,20}}(?![\w/-]|[.,:]\d| \d)"
    r"|(?-i:[A-Z]{2,3} \d{2,4}(?![\w-])))"
    rf"|{_LEFT}(?:PNR|(?:booking|reservation|confirmation)(?: reference)?):? "
    rf"(?P<code>(?-i:[A-Z]{{6}})){_RIGHT}",
    re.IGNORECASE,
)
GROUPED = re.compile(r"(?<![\w.,-])\d{4}(?: \d{4}){2,5}(?: \d{1,4})?(?![\w-]| ?\d)", re.ASCII)
IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Z0-9])"
)
TRAIN = re.compile(r"(?<![A-Za-z0-9])(?:ICE?|EC|RE|RB|TGV|RJX?|EN|NJ) \d{1,5}(?![\w.,]?\d)")
LED_VERSION = re.compile(
    r"(?<![A-Za-z])(?:versions?|release|python|node|ubuntu|debian|fedora|django|flask|postgres(?:ql)?"
    r"|mysql|mariadb|sqlite|redis|php|java|go|golang|ruby|rails|rust|kubernetes|k8s|docker|macos|ios"
    r"|android|windows|react|angular|vue|numpy|pandas|pytorch|kernel|chrome|firefox|版本|バージョン)"
    r"(?:\s(?:to|auf|à|a)\s|\s|==?|:)?\s?(?P<id>\d{1,4}\.\d{1,4}(?:\.\d{1,5})?(?![\w]|\.\d))",
    re.IGNORECASE,
)

# --- names ---
BACKTICKS = re.compile(r"(?<!`)`([^`\n]{1,120})`(?!`)")
FENCE = re.compile(r"```(?:(?!```)[\s\S])*+(?:```)?")
QUOTES = re.compile(
    r"„([^“”\"\n]{2,64})[“”\"]|“([^”“\n]{2,64})”|»([^«»\n]{2,64})«|«([^»«\n]{2,64})»"
    r"|「([^」「\n]{2,40})」|『([^』『\n]{2,40})』|《([^》《\n]{1,40})》"
    r"|(?<![\w=\\])\"(?=\S)([^\"\n]{2,64})(?<=\S)\"(?!\w)"
    r"|(?<!\w)\u2018([^\u2019\u2018\n]{2,64})\u2019(?!\w)|(?<!\w)'(?=\S)([^'\n]{2,64})(?<=\S)'(?!\w)"
)
NAMING = re.compile(
    r"(?:called|named|titled|name|folder|list|label(?:ed)?|group|tag|project|branch|channel|album"
    r"|heißt|namens|genannt|Ordner|Liste|Projekt|appelé|nommé|llamad[oa])\s?[:=]?\s?$",
    re.IGNORECASE,
)
SPEAKING = re.compile(
    r"(?:[说說問问道答喊言写寫]|\b(?:sa(?:id|ys)|asked|wrote|answered|replied|told \w{1,12}"
    r"|sagte|meinte|fragte|schrieb|dit|dijo))\s?[:\uff1a,\uff0c]?\s?$",
    re.IGNORECASE,
)

# Phrases, in the order in which they take a place.
PHRASES = (
    (IdentifierKind.REFERENCE, IBAN),
    (IdentifierKind.REFERENCE, GROUPED),
    (IdentifierKind.AMOUNT, AMOUNT),
    (IdentifierKind.DATE, DATE),
    (IdentifierKind.TIME, TIME),
    (IdentifierKind.PHONE, PHONE),
    (IdentifierKind.REFERENCE, TRAIN),
    (IdentifierKind.VERSION, LED_VERSION),
    (IdentifierKind.REFERENCE, LED_REFERENCE),
    (IdentifierKind.REFERENCE, LOOSE_REFERENCE),
)
