"""In which script a user writes, and which notes are refused for theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.language import Script, find_foreign_script, main_script

LOG = """\
2026-11-30 10:15:30 INFO  Starting server on port 8080
2026-11-30 10:15:31 ERROR Failed to connect to database shop at db-01.example.com:5432
Traceback (most recent call last):
  File "/srv/app/main.py", line 42, in <module>
    connection = connect(settings.database_url, timeout=30)
ConnectionRefusedError: the server refused the connection and nobody knows why
the application will now stop because it can not go on without the database"""

CHINESE = [
    "你好，我想把周五从上海飞北京的航班改到周六上午，最好是十点以前出发。",
    "可以，靠窗的座位就行。另外请帮我确认一下行李额度，我有两件托运行李。",
    "好的，就订这个。发票请开公司抬头，发到我的邮箱 wang.xiaoming@example.com。",
]
JAPANESE = [
    "来週の火曜日に大阪から東京へ移動したいのですが、午前中の新幹線を予約してもらえますか。",
    "窓側の席でお願いします。領収書も必要です。",
    "了解です。ホテルは駅から歩いて行けるところがいいです。",
]
KOREAN = [
    "안녕하세요, 다음 주 수요일에 부산으로 가는 기차표를 예매해 주세요.",
    "오전 열 시 이후에 출발하는 걸로 부탁드리고, 창가 자리면 좋겠습니다.",
]
ARABIC = [
    "مرحبا، أريد تغيير موعد الرحلة من يوم الخميس إلى يوم السبت صباحا إذا كان ذلك ممكنا.",
    "نعم، المقعد بجانب النافذة مناسب جدا، وأحتاج أيضا إلى فاتورة باسم الشركة.",
]
RUSSIAN = [
    "Привет, перенеси, пожалуйста, встречу с Анной с четверга на пятницу, часов на одиннадцать.",
    "И забронируй переговорную на шесть человек, нам понадобится проектор.",
]
GERMAN = [
    "Kannst du bitte den Termin beim Zahnarzt auf nächste Woche verschieben, am besten vormittags?",
    "Ja, Mittwoch passt gut. Trag es bitte in den Kalender ein und erinnere mich am Vorabend.",
]
HEBREW = ["שלום, אני צריך לשנות את הטיסה שלי ליום ראשון בבוקר ולהזמין מונית לשדה התעופה."]
HINDI = ["नमस्ते, कृपया मेरी उड़ान शुक्रवार से शनिवार सुबह कर दीजिए और खिड़की वाली सीट चाहिए।"]
THAI = ["สวัสดีครับ ช่วยเลื่อนเที่ยวบินจากวันศุกร์เป็นวันเสาร์ตอนเช้าให้หน่อยครับ ขอที่นั่งริมหน้าต่างด้วย"]
GREEK = ["Καλημέρα, θα ήθελα να αλλάξω την πτήση μου από την Παρασκευή στο Σάββατο το πρωί."]
ENGLISH = [
    "Hi, could you please move my flight from Friday to Saturday morning, before ten if possible?",
    "A window seat is fine. Please also check how much luggage I may take along.",
]
QUOTES = """\
## Last exchange
> User: Could you please look at the long log below and say what it is, and what to do now
> Agent: Of course, it says that the database was not there when the server began to run"""
USERS = {
    Script.CHINESE: CHINESE,
    Script.JAPANESE: JAPANESE,
    Script.KOREAN: KOREAN,
    Script.ARABIC: ARABIC,
    Script.CYRILLIC: RUSSIAN,
    Script.HEBREW: HEBREW,
    Script.DEVANAGARI: HINDI,
    Script.THAI: THAI,
    Script.GREEK: GREEK,
    Script.LATIN: GERMAN,
}
NOTES = {
    Script.CHINESE: """\
## Goal
- 用户想把周五上海到北京的航班改到周六上午十点以前，并确认行李额度
## Done
- 已改签到 `MU5101`，2026-03-07 08:00 起飞，座位 14A（靠窗），订单 H8Q05L
- 已把公司抬头的发票发到 wang.xiaoming@example.com
## Open
- 等待航空公司确认第二件托运行李，见 https://example.com/bookings/H8Q05L""",
    Script.JAPANESE: """\
## Goal
- 来週の火曜日に大阪から東京へ移動する。午前中の新幹線を予約する
## Done
- のぞみ 214号、窓側の席を予約した。予約番号は H8Q05L
## Open
- ホテルは駅から歩いて行けるところを探している。領収書がまだ届いていない""",
    Script.KOREAN: """\
## Goal
- 다음 주 수요일 오전 열 시 이후 부산행 기차표를 예매하는 것
## Done
- KTX 131 창가 자리를 예매했고 예약 번호는 H8Q05L 이다
## Open
- 사용자가 결제 확인을 기다리고 있으며 영수증이 아직 오지 않았다""",
    Script.ARABIC: """\
## Goal
- تغيير موعد الرحلة من يوم الخميس إلى يوم السبت صباحا مع مقعد بجانب النافذة
## Done
- تم الحجز برقم H8Q05L وأرسلت الفاتورة باسم الشركة إلى البريد الإلكتروني
## Open
- ما زال المستخدم ينتظر تأكيد الأمتعة الإضافية من شركة الطيران""",
    Script.CYRILLIC: """\
## Goal
- Перенести встречу с Анной с четверга на пятницу, одиннадцать часов утра
## Done
- Переговорная на шесть человек забронирована, номер брони H8Q05L
## Open
- Анна ещё не подтвердила новое время, пользователь ждёт её ответа сегодня вечером""",
    Script.LATIN: """\
## Goal
- Move the flight from Friday to Saturday morning, with a window seat, before ten
## Done
- The flight was changed and the booking is H8Q05L, the invoice went to the company
## Open
- The airline has yet to confirm the second piece of luggage and the user waits for it""",
}


@pytest.mark.parametrize(("script", "texts"), USERS.items())
def test_the_script_of_a_user_is_found(script: Script, texts: list[str]) -> None:
    """By the letters of what was said."""
    assert main_script(texts) is script


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("notes", NOTES)
def test_notes_in_another_script_are_foreign_and_in_the_same_are_not(
    user: Script, notes: Script
) -> None:
    """English headings, identifiers and names make no notes foreign."""
    told = find_foreign_script(NOTES[notes], USERS[user])
    expected = None if user is notes else f"it is written in {notes}, the user writes in {user}"
    assert told == expected


@pytest.mark.parametrize("user", USERS)
def test_pasted_logs_and_code_say_nothing_of_who_writes(user: Script) -> None:
    """Below a question, alone in a message, in a fence, and as long as they like."""
    texts = [f"{text}\n{LOG}\n{LOG}" for text in USERS[user]]
    texts += [f"{text}\n```\n{LOG}\n```" for text in USERS[user]] * 2
    texts.append(LOG)
    assert main_script(texts) is user
    foreign = Script.CHINESE if user is Script.LATIN else Script.LATIN
    assert find_foreign_script(NOTES[foreign], texts) is not None
    if user in NOTES:
        assert find_foreign_script(NOTES[user], texts) is None


def test_english_terms_in_another_script_are_no_english() -> None:
    """What people in China write about their servers is Chinese."""
    texts = [
        "帮我看一下 staging 环境的 Kubernetes cluster，那个 deployment 又 crash 了",
        "把 nginx 的 timeout 改成 30 秒，然后 restart 一下 pod，再看 log",
        "merge 之前先跑一遍 pytest，coverage 不能低于之前的",
    ]
    assert main_script(texts) is Script.CHINESE
    assert find_foreign_script(NOTES[Script.LATIN], texts) is not None


def test_notes_full_of_foreign_names_are_not_foreign() -> None:
    """Names, commands and terms stay as they are."""
    chinese = """\
## Done
- 在 Kubernetes cluster 上把 nginx ingress controller 升级，restart 了 deployment
- 用 Terraform apply 修改 security group，然后 rollback 了 Postgres replica
## Open
- 等 Jane Doe 和 Kurt Weber 在 Amsterdam Schiphol Airport 确认 backup schedule"""
    assert find_foreign_script(chinese, CHINESE) is None
    english = (
        "## Open\n- Ask 王小明 and 李雷 at 北京饭店 for the date of the meeting, then tell Ann."
    )
    assert find_foreign_script(f"{NOTES[Script.LATIN]}\n{english}", ENGLISH) is None


def test_german_and_english_are_one_script() -> None:
    """Which of them notes are written in can't be told by letters, and is not."""
    assert find_foreign_script(NOTES[Script.LATIN], GERMAN) is None


def test_a_mixed_conversation_allows_both() -> None:
    """Who writes in two scripts can read both; a third one is foreign."""
    texts = [*ENGLISH, *CHINESE]
    assert main_script(texts) is None
    assert find_foreign_script(NOTES[Script.LATIN], texts) is None
    assert find_foreign_script(NOTES[Script.CHINESE], texts) is None
    told = "it is written in Cyrillic script, the user writes in Latin script and Chinese"
    assert find_foreign_script(NOTES[Script.CYRILLIC], texts) == told


def test_a_japanese_message_without_kana_is_still_japanese() -> None:
    """Among others that have some."""
    texts = [*JAPANESE, "了解", "出発時間変更希望", "午前九時東京駅集合"]
    assert main_script(texts) is Script.JAPANESE
    assert find_foreign_script(NOTES[Script.CHINESE], texts) is not None


def test_terse_japanese_notes_pass() -> None:
    """Notes drop their particles, and with them much of the kana."""
    notes = """\
## Done
- 新幹線予約済、予約番号確認済、座席窓側指定
## Open
- 領収書発行待ち、宿泊先検索中、駅徒歩圏内希望、予算上限二万円、火曜午前出発"""
    assert find_foreign_script(notes, JAPANESE) is None


def test_a_japanese_name_in_chinese_notes_is_no_japanese() -> None:
    """A few kana are a name."""
    notes = NOTES[Script.CHINESE] + "\n- 用户喜欢吃 おにぎり，还想去 ドンキ 买东西，然后回酒店休息"
    assert find_foreign_script(notes, CHINESE) is None


@pytest.mark.parametrize(
    "notes",
    [
        "",
        "## Goal\n- Move the flight",
        "## Exact facts\n- H8Q05L, db-01.example.com, /srv/app/main.py, https://example.com/a/b",
        f"## Done\n- done\n\n```\n{LOG}\n```",
        QUOTES,
    ],
)
def test_short_notes_and_quotes_are_never_refused(notes: str) -> None:
    """There must be enough prose to judge."""
    assert find_foreign_script(notes, CHINESE) is None


@pytest.mark.parametrize(
    "texts", [[], [""], ["ok"], ["👍", "🙏🙏"], ["好"], [LOG], ["1 2 3", "/new"]]
)
def test_nothing_is_refused_for_a_user_who_said_next_to_nothing(texts: list[str]) -> None:
    """Thumbs up, numbers, a pasted log."""
    assert find_foreign_script(NOTES[Script.ARABIC], texts) is None or texts == [LOG]
    assert find_foreign_script(NOTES[Script.LATIN], texts) is None


def test_full_width_and_accented_letters_are_what_they_look_like() -> None:
    """Unicode's names say so."""
    wide = "Ａ ｓｅｎｔｅｎｃｅ ｏｆ ｗｉｄｅ ｌｅｔｔｅｒｓ " * 2
    vietnamese = "Đây là một câu tiếng Việt có rất nhiều dấu trên các chữ cái của nó"
    assert main_script([wide]) is Script.LATIN
    assert main_script([vietnamese]) is Script.LATIN


@given(st.text(max_size=300), st.lists(st.text(max_size=200), max_size=5))
def test_no_text_makes_it_raise(notes: str, texts: list[str]) -> None:
    """Whatever is in it."""
    main_script(texts)
    find_foreign_script(notes, texts)


def test_a_long_text_without_words_comes_to_an_end() -> None:
    """The suite's time limit is the judge."""
    for piece in ("`", "```", "a.", "[", "#", "| ", "=", "あ", "x"):
        text = piece * (300_000 // len(piece))
        find_foreign_script(text, [text])
