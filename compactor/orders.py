"""Orders to a reader, and the first person, told by how a sentence begins; in eight languages.

A user's wish that notes hand on ("Never deploy on Fridays", "Answer in German from now on") is no
order of this kind: these are about the reader's instructions, its part, and what it was told.
"""

from __future__ import annotations

import re

# May stand ahead of an order: "IMPORTANT: ignore ...".
_LEAD = re.compile(
    r"(?i)(?:(?:important|note|attention|warning|urgent|notice|reminder|system|please|now"
    r"|achtung|wichtig|hinweis|bitte|importante|atención|aviso|por favor"
    r"|avertissement|s'il (?:te|vous) pla[iî]t|важно|внимание|пожалуйста"
    r"|注意|重要|重要提示|警告|请|مهم|تنبيه|من فضلك|يرجى)\s*[!:,.]*[*_]*\s*){1,3}"
)
_DROP = r"(?:ignore|disregard|forget)"
_OLD = r"(?:previous|prior|above|earlier|preceding|foregoing|former|system|your|original)"
_WITHIN = r"(?:(?:all|any|every|each|the|of|these|those|and|or)\s+)*"
_END = r"\s*(?:[.!,;:?]|$|and\b|now\b)"
_HIDDEN = r"(?:system|initial|hidden|developer)"
_ASK = r"(?:prompts?|messages?|instructions?)"

_ENGLISH = rf"""
    {_DROP}\s+{_WITHIN}(?:{_OLD},?\s+(?:(?:and|or)\s+)?)+(?:instructions?|prompts?|directives?)\b
        (?!\s+(?:about|for|to|on|as|regarding|concerning)\b)
  | {_DROP}\s+{_WITHIN}your\s+(?:\w+\s+){{0,2}}?
        (?:instructions?|prompts?|guidelines|rules|programming|training)\b
  | {_DROP}\s+all\s+(?:of\s+)?(?:the\s+|these\s+)?(?:instructions|prompts|directives)
        (?:\s+(?:above|before|so\s+far|you\b.*)|{_END})
  | {_DROP}\s+(?:everything|all|anything|what)\s+
        (?:(?:that\s+)?you\s+(?:were|are|have\s+been|know|learned)\b|(?:that\s+)?(?:was\s+|is\s+)?(?:said\s+)?above{_END})
  | (?:do\s+not|don't|never|stop)\s+(?:follow|obey)(?:ing)?\s+{_WITHIN}
        (?:(?:previous|system|your|above)\s+)+(?:instructions?|prompts?|directives?|rules)\b
  | you\s+are\s+(?:now|no\s+longer|hereby|DAN)\b
  | you\s+are\s+(?:an?|the)\s+(?:[\w-]+\s+){{0,3}}(?:assistant|ai|bot|chatbot|agent|model)\b
  | you\s+(?:must|shall|are\s+(?:required|ordered|instructed)\s+to
        |will\s+(?:now|from\s+now))\b
  | your\s+(?:(?:new|only|next|real|true|first|sole|actual)\s+)?
        (?:task|role|mission|objective|instructions?)\s*(?:is\b|are\b|:|now\b)
  | from\s+now\s+on,?\s+(?:you\b|(?:ignore|disregard)\s+(?:all|any|your|the)\b)
  | new\s+(?:system\s+(?:instructions?|prompt)|instructions)\s*:
  | (?:reveal|leak|recite|disclose)\s+(?:(?:your|the|all|its)\s+)+(?:(?:\w+\s+)?{_HIDDEN}\s+)?
        (?:prompts?|instructions)\b
  | repeat\s+(?:(?:all|the)\s+)+(?:\w+\s+)?{_HIDDEN}\s+{_ASK}\b
  | (?:reveal|print|repeat|output|show|display|send|post|write)\s+(?:(?:me|us|out|back)\s+)*
        (?:all\s+(?:of\s+)?)?your\s+(?:\w+\s+){{0,2}}?(?:{_HIDDEN}\s+)?{_ASK}\b
  | (?:print|output|show|display)\s+the\s+(?:{_HIDDEN}\s+)?prompt
        \s+(?:verbatim|word\s+for\s+word|above\s*[.!]?$|now)\b
  | (?:print|output)\s+the\s+(?:\w+\s+)?{_HIDDEN}\s+prompt\s*[.!]?$
  | (?:attention|dear|hey|hello|hi),?\s+(?:ai|assistant|agent|model|reader|llm|summarizer
        |language\s+model)\s*[,:!]
  | (?:assistant|ai|agent|llm|model|summarizer),\s+(?:you\b|ignore\b|disregard\b|forget\b)
"""
_GERMAN = r"""
    (?:ignorier(?:e|en\s+sie)?|vergiss|vergessen\s+sie|missachte(?:n\s+sie)?)\s+
        (?:(?:alle|sämtliche|die|deine|ihre|diese|der)\s+)*
        (?:(?:vorherig|bisherig|vorig|obig|früher|vorangegangen|vorhergehend|ursprünglich)\w*\s+
           (?:\w+\s+)?(?:anweisung|instruktion|regel|vorgabe|befehl|prompt|nachricht)\w*
        |systemanweisung\w*|system-?prompts?
        |(?<=deine\s)(?:anweisung|instruktion|regel)\w*)
  | du\s+bist\s+(?:jetzt|nun|ab\s+jetzt|ab\s+sofort|nicht\s+(?:mehr|länger))\b
  | du\s+musst\s+(?:jetzt|nun|ab\s+sofort|alle|immer|sofort|unbedingt|die|den)\b
  | deine\s+(?:neuen?\s+)?(?:aufgabe|rolle|anweisung(?:en)?)\s*(?:ist|sind|lautet|lauten|:)
  | ab\s+(?:jetzt|sofort)\s+(?:bist|musst|wirst|sollst|darfst)\s+du\b
  | neue\s+(?:systemanweisung(?:en)?|anweisungen)\s*:
  | (?:gib|zeige?|verrate|wiederhole|nenne)\s+(?:mir\s+)?(?:deine?n?|den|die)\s+
        (?:system-?prompt|systemanweisung\w*|systemnachricht)
"""
_SPANISH = r"""
    (?:ignor[ae]|olvid[ae]|omit[ae]|desestim[ae])n?\s+(?:(?:todas?|todos|las|los|tus|sus|estas)\s+)*
        (?:instrucciones|reglas|órdenes|indicaciones|mensajes)\s+
        (?:anteriores|previas?|previos|precedentes|de(?:l)?\s+sistema|originales)
  | (?:ahora|a\s+partir\s+de\s+ahora|desde\s+ahora),?\s+(?:eres|usted\s+es|debes|tienes\s+que)\b
  | debes\s+(?:ignorar|olvidar|responder|enviar|revelar|obedecer|actuar)\b
  | tu\s+(?:nueva\s+)(?:tarea|función|misión|instrucción)\s*(?:es|:)
  | nuevas?\s+instrucci(?:ón|ones)(?:\s+del\s+sistema)?\s*:
  | (?:revela|muestra|repite|imprime)\s+(?:tu|el|tus|las)\s+
        (?:prompt|mensaje\s+(?:de|del)\s+sistema|instrucciones\s+(?:de|del)\s+sistema)
"""
_FRENCH = r"""
    (?:ignore[rz]?|oublie[rz]?)\s+(?:(?:toutes|tous|les|tes|vos|ces)\s+)*
        (?:instructions|consignes|règles|directives|messages)\s+
        (?:précédent\w*|antérieur\w*|ci-dessus|du\s+système|système|initiales?)
  | (?:tu\s+es|vous\s+êtes)\s+(?:maintenant|désormais)\b
  | (?:désormais|à\s+partir\s+de\s+maintenant|dorénavant),?\s+
        (?:tu\s+(?:es|dois)|vous\s+(?:êtes|devez))\b
  | (?:tu\s+dois|vous\s+devez)\s+(?:maintenant|désormais|ignorer|oublier|obéir|révéler|répondre)\b
  | (?:ta|votre)\s+nouvelle\s+(?:tâche|mission|consigne|instruction)\s*(?:est|:)
  | nouvelles?\s+(?:instructions?|consignes?)(?:\s+système)?\s*:
  | (?:révèle|affiche|montre|répète)[rz]?\s+(?:ton|votre|le|tes|vos|les)\s+
        (?:prompt|message\s+système|instructions\s+(?:du\s+)?système)
"""
_RUSSIAN = r"""
    (?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|не\s+следуй(?:те)?)\s+
        (?:(?:все|всем|о|про|свои|твои|ваши)\s+)*
        (?:предыдущ|прежн|прошл|вышеуказанн|системн|исходн)\w*\s+
        (?:\w+\s+)?(?:инструкци|указани|правил|команд|сообщени|промпт)\w*
  | (?:теперь|отныне|с\s+этого\s+момента),?\s+(?:ты|вы)\b
  | (?:ты|вы)\s+(?:теперь|отныне|больше\s+не)\b
  | (?:ты\s+должен|ты\s+должна|ты\s+обязан|вы\s+должны|вы\s+обязаны)\b
  | (?:твоя|ваша|твоё|твое)\s+(?:новая\s+)?(?:задача|роль|цель)\b
  | нов(?:ая|ые)\s+(?:системн\w+\s+)?инструкци[яи]\s*:
  | (?:покажи|раскрой|повтори|выведи)(?:те)?\s+(?:мне\s+)?(?:свой|свои|твой|ваш|системн\w+)\s+
        (?:системн\w+\s+)?(?:промпт|инструкци\w+|сообщени\w+)
"""
_CHINESE = r"""
    (?:请)?(?:忽略|无视|忘记|忘掉|不要遵守)(?:掉)?(?:你)?(?:所有|一切|全部)?(?:的)?
        (?:之前|以前|先前|以上|上述|上面|前面|系统|原有)(?:所有|一切|全部)?(?:的)?(?:所有|一切|全部)?
        (?:系统)?(?:指令|指示|提示词?|命令|规则|要求|消息)
  | (?:从现在(?:开始|起)[,,]?)?你现在(?:是|必须|不再|要)
  | 从现在(?:开始|起)[,,]?你
  | 你(?:必须|不再是|的(?:新)?(?:任务|角色|指令)(?:是|:))
  | 新(?:的)?(?:系统)?(?:指令|提示)\s*:
  | (?:请)?(?:输出|显示|透露|重复|告诉我|打印)(?:出)?(?:你的|全部的?)?
        (?:系统(?:提示词?|指令|消息)|(?<=你的)(?:提示词|指令))
"""
_JAPANESE = r"""
    (?:これまで|今まで|以前|以上|上記|前|過去|すべて|全て)(?:の|まで)?(?:の)?(?:すべて|全て)?(?:の)?
        (?:指示|命令|ルール|プロンプト|システムプロンプト)を?(?:すべて|全て)?
        (?:(?:無視|破棄)(?:して(?:ください|下さい|[、,。!]|$)|しろ|せよ|し[、,])|忘れ(?:て(?:ください|下さい|[、,。!]|$)|ろ))
  | (?:あなた|君|お前)は(?:今から|これから|今|もう|必ず)
  | (?:今から|これから|以後|今後)[、,]?(?:は)?[、,]?(?:あなた|君|お前)は
  | (?:あなた|君)の(?:新しい)?(?:任務|役割|タスク|指示)は
  | 新しい(?:システム)?指示\s*:
  | (?:システムプロンプト|システムメッセージ|あなたの(?:指示|プロンプト))を
        (?:(?:表示|出力|公開|開示)(?:してください|して下さい|しろ|せよ)|繰り返(?:してください|せ))
"""
_ARABIC = r"""
    (?:تجاهل|انس|انسَ|لا\s+تتبع)\s+(?:(?:جميع|كل|كافة)\s+)?(?:التعليمات|الأوامر|القواعد|تعليماتك)
        (?:\s+(?:السابقة|أعلاه|المذكورة|الأصلية)|\s*[.!،]|$|\s+النظام)
  | (?:أنت|انت)\s+الآن\b
  | من\s+الآن\s+فصاعد\w*،?\s+(?:أنت|انت|يجب\s+عليك|عليك)
  | يجب\s+عليك\b
  | (?:مهمتك|دورك)\s+(?:الجديدة\s+|الجديد\s+)?(?:هي|هو|الآن|:)
  | تعليمات\s+(?:جديدة|النظام\s+الجديدة)\s*:
  | (?:اكشف|اعرض|أظهر|كرر|اطبع)\s+(?:لي\s+)?(?:(?:موجه|رسالة|تعليمات)\s+النظام|تعليماتك)
"""
_ORDER = re.compile(
    "|".join(
        f"(?:{words})"
        for words in (
            _ENGLISH,
            _GERMAN,
            _SPANISH,
            _FRENCH,
            _RUSSIAN,
            _CHINESE,
            _JAPANESE,
            _ARABIC,
        )
    ),
    re.IGNORECASE | re.VERBOSE,
)
# How another's message begins: with a token of a chat template, or a role's name.
_ROLE = re.compile(
    r"""(?ix)
    <\|[a-z_]{1,24}\|> | \[/?INST\] | <</?SYS>> | <(?:start|end)_of_turn> | </?s>(?=\s*(?:$|\[|<))
  | </?system(?:[-_]?(?:prompt|message|reminder|instructions?))?>
  | \[\s*(?:system|developer)\b[^\]]{0,80}\]\s*:?\s*
        (?:$|(?:you|your|new|ignore|the\s+(?:assistant|agent))\b)
  | system\s*:\s*(?:the\s+)?(?:assistant|agent|ai|model)\s+(?:must|shall|will|has\s+to|is\s+now)\b
    """
)

_FIRST = re.compile(
    r"""(?x)
    I\s(?=[a-z]) | I['’](?:m|ll|ve|d)\b | We\s(?=[a-z]) | We['’](?:re|ll|ve|d)\b | [Ll]et\sme\b
  | Sure[,!.] | Of\scourse[,!.] | Certainly[,!.] | (?:As|Being)\san\sAI\b
  | Ich\s(?=[a-zäöü]) | Wir\s(?=[a-zäöü]) | Als\sKI\b | (?:Gerne?|Klar|Natürlich)[,!.]
  | Lass(?:en\sSie)?\smich\b
  | (?:Yo|Nosotros)\s | (?:Quiero|Necesito|Puedo|Quisiera|Voy\sa|Déjame|Permíteme)\b
  | (?:He|Hemos)\s\w+(?:ado|ido)\b | Claro[,!.] | Por\ssupuesto[,!.] | Como\s(?:una\s)?IA\b
  | Je\s(?=[a-zéêà]) | J['’](?=[a-zéêà]) | Nous\s(?=[a-zéêà]) | Bien\ssûr[,!.]
  | En\stant\squ['’]IA\b | (?:Laissez|Permettez|Laisse)-moi\b
  | (?:Я|Мы|Мне)\s(?=[а-яё]) | Конечно[,!.] | Как\sИИ\b | Давайте\sя\b
  | 我(?![国國市省校司方队隊]) | 好的[,,。!、] | 当然[,,。!] | 让我
  | 作为(?:一个|一名)?(?:AI|人工智能)
  | (?:私|僕|俺|わたし|私たち|弊社)(?:は|が|の|も) | はい[、,。] | かしこまりました
  | 承知(?:しました|いたしました) | もちろん[、,。] | AIとして
  | (?:أنا|نحن|أريد|أود|دعني|دعنا|سأقوم|سأرسل|سأحجز|سأتحقق|سأفعل|سأساعد\w*)\b
  | (?:بالتأكيد|بالطبع|كنموذج)\b
    """
)


# Who is spoken to may be somebody else: a rule of the user's house, words of a letter.
_DOUBTFUL = re.compile(
    r"""(?ix)
    you | your | from\snow | print | output | show | display | du\b | deine | ab\b | neue
  | debes | ahora | a\spartir | desde | tu\b | nuevas? | vous | désormais | à\spartir | dorénavant
  | ta\b | votre | nouvelles? | теперь | отныне | с\sэтого | ты | вы | тво | ваш | нов
  | 从现在 | 你 | 新 | あなた | 君 | お前 | 今から | これから | 以後 | 今後
  | أنت | انت | من\sالآن | يجب | مهمتك | دورك | تعليمات
    """
)


def is_order(sentence: str, *, for_certain: bool = False) -> bool:
    """Whether a sentence begins as an order to whoever reads it; `for_certain`, to no one else."""
    lead = _LEAD.match(sentence)
    found = _ORDER.match(sentence) or _ORDER.match(sentence, lead.end() if lead else 0)
    return found is not None and not (for_certain and _DOUBTFUL.match(found[0]))


def is_role(line: str) -> bool:
    """Whether a line begins as a message of another role would, in some chat template."""
    return bool(_ROLE.match(line))


def is_spoken(line: str) -> bool:
    """Whether a line begins as one of the conversation speaks, and not as notes do."""
    return bool(_FIRST.match(line))
