"""What a sentence is for, told by its words: politeness, a rule, a statement, a question.

Cheap and in a few languages; a sentence in another one is neither a rule nor a statement, and is
found all the same by its place in the conversation.
"""

from __future__ import annotations

import re

# Said at the beginning of a sentence that says nothing else, if it is short.
_POLITE = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|thanks?|thank you|many thanks"
    r"|sure|ok(?:ay)?|great|perfect|excellent|wonderful|awesome|fantastic|cool|nice|yes|yep|yeah"
    r"|no problem|no worries|alright|all right|got it|i see|i understand|of course|certainly"
    r"|absolutely|done|fixed|good|please|you're welcome|you\u2019re welcome|my pleasure"
    r"|hallo|guten (?:morgen|tag|abend)|moin|servus|danke|vielen dank|gerne?|klar|bitte"
    r"|natürlich|alles klar|verstanden|super|prima|hola|gracias|bonjour|merci)\b"
    r"|(?:你好|您好|谢谢|感谢|好的|好|是的|可以|没问题|当然|ありがとう|はい|こんにちは)",
    re.IGNORECASE,
)
# At the beginning, so that "The refund is done, let me know if ..." keeps what it says.
_OFFER = re.compile(
    r"[^,;.:]{0,25}?\b(?:if (?:there(?:'s| is)|you(?:'d| have| need| would| want)\b.{0,30}"
    r"\b(?:questions?"
    r"|assistance|help))|feel free|let me know if|(?:is there )?anything else|happy to (?:help"
    r"|assist)|(?:can|will|i'll) (?:certainly |definitely )?(?:help|assist) you with (?:that|this)"
    r"|(?:don't|do not) hesitate|have a (?:great|nice|good|wonderful)|how (?:can|may) i (?:help"
    r"|assist)|safe travels|take your time|sonst noch|weitere fragen|gern(?:e)? zur verfügung"
    r"|还有(?:什么|其他))",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"(?:(?:and |now |so |but )?let me (?:check|see|look|create|give|summarize|verify|read|fix)"
    r"|here(?:'s| is| are)|summary)\b.{0,60}[:.…]?$",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"\b(?:(?<!ve )never|(?<!ve )always|(?<!there )must(?:n't)?(?! have\b)|no longer"
    r"|under no circumstances|(?<!ll )make sure"
    r"|not allowed|(?:i|we) (?:don't|do not|dont) want|niemals|nie|immer|muss|müssen"
    r"|darf|dürfen|auf keinen fall|unbedingt|nunca|jamás|siempre|jamais|toujours|uniquement)\b"
    r"|(?:^|[,;:(]\s?|\b(?:please|and|but|so|just)\s)(?:don't|don\u2019t|do not|dont|bitte kein\w*"
    r"|bitte nicht)\s"
    r"|^no,? (?!problem|worries|thank|i\b|it\b|that\b|we\b)[a-z]"
    r"|必须|不要|千万|绝不|永远|一定|禁止|别再|务必|不准|不能|不得|必ず|絶対|しないで",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefer\w*|only|instead|rather|avoid|no need|should(?:n't)?|keep|let's (?:go|use|do|keep)"
    r"|go with|i(?:'|\u2019)ll (?:use|take|go with)|please (?:use|apply)"
    r"|decided?|agreed?|deadline|budget|nur|lieber|stattdessen|statt|sondern"
    r"|bevorzug\w*|soll(?:te|ten|en)?|nicht|keine?[nrms]?|solo|prefiero|seulement|plutôt)\b"
    r"|只|最好|改为|而不是|希望|优先|だけ",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b((?:my|our|mein\w{0,2}|unser\w{0,2}) [\w' -]{1,40}?|the [\w' -]{0,30}?\b(?:id|number|code"
    r"|name|date|address|budget|deadline|password|version))(?: is| are| ist| sind| lautet|:)\s"
    r"|((?:我的|我们的)\w{1,12}?)(?:是|为|\uff1a)",
    re.IGNORECASE,
)
_ABOUT_SELF = re.compile(
    r"\b(?:call me|i(?:'m| am) (?:an?|from|in|at|based|allergic)\b|(?:and )?i (?:like|love|hate"
    r"|live|work|speak|was born)|remember (?:that|to|my|i)|note that|fyi|for the record"
    r"|ich (?:heiße|wohne|arbeite|mag|bin (?:eine?|aus|in))|ich bin allergisch)\b"
    r"|我(?:叫|住|喜欢|来自|姓|对)",
    re.IGNORECASE,
)
_NOT_KNOWN = re.compile(
    r"\b(?:don't|don\u2019t|do not|didn't|can't|cannot|unable to|not sure|forgot|lost)\b"
    r"(?: \w+){0,2} ?(?:remember|have|know|recall|find|provide)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"(?:it|that|this|there|he|she|they)(?:'s|\u2019s| is| are)\b", re.IGNORECASE
)
_EQUATES = re.compile(r"\s(?:is|are|was|ist|sind|lautet)\s|:\s|[=\uff1a是为]", re.IGNORECASE)
_ASKS_FOR = re.compile(
    r"[?\uff1f]|\b(?:please (?:provide|confirm|send|share|specify|tell|let me know|choose|check)"
    r"|let me know (?:which|what|when|whether|how|if you(?:'d| would| want)|the|your)"
    r"|once you (?:have|provide|confirm)|i(?:'ll| will)? need (?:your|the|to know|more|some)"
    r"|bitte (?:nenne|gib|teile?|bestätig|schick|sag)\w*)|请(?:提供|确认|告诉|选择|发)",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(
    r"^(?:the |my )?next steps?\b|\b(?:to-?do|next steps?(?=:)"
    r"|still (?:to do|open|missing|pending|need(?:s|ed)?|outstanding)"
    r"|remaining (?:work|steps?|tasks?|items?|points?)|not yet (?:done|finished|implemented)"
    r"|remind you|i(?:'ll| will) (?:get back|let you know)|noch (?:offen|ausstehend|zu tun)"
    r"|nächster schritt)\b|待办|下一步|尚未|还没",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"\s*[\[{\"']*\s*(?:error|err|fatal|failed|failure|exception|traceback|fehler|panic|usage error"
    r"|错误|失败)\b[\"']?\s*[:!(\s]"
    r"(?!\s*(?:null|none|false|0|\"\"|\[\]|\{\})\s*[,}])"
    r"|.{0,200}?\b(?:command not found|no such file or directory|permission denied|timed out"
    r"|traceback \(most recent call last\)|error TS\d+|npm error|is not recognized as)",
    re.IGNORECASE | re.DOTALL,
)
_ERROR_WORD = re.compile(
    r"error\b|exception\b|fail(?:ed|ure)\b|not found|denied|fehler|错误", re.IGNORECASE
)
_FAILURE_END = re.compile(
    r"\b(?:exit(?:ed with)? code:? [1-9]|command aborted|timed out)", re.IGNORECASE
)

_FEW_WORDS = 6
_FEW_CHARACTERS = 45


def is_filler(sentence: str) -> bool:
    """Whether a sentence only greets, thanks, agrees or offers help."""
    if _OFFER.match(sentence) or _LEAD_IN.match(sentence):
        return True
    short = len(sentence.split()) < _FEW_WORDS and len(sentence) < _FEW_CHARACTERS
    found = _POLITE.match(sentence) if short else None
    return bool(found) and not any(char.isdigit() for char in sentence)


def rule_strength(sentence: str) -> int:
    """Return 2 for what must or must never be, 1 for a preference, 0 for neither."""
    if _ALWAYS.search(sentence):
        return 2
    return 1 if _PREFERS.search(sentence) and not is_question(sentence) else 0


def subject_of(sentence: str) -> str | None:
    """Return what a statement is about (`my account number`), by which a correction is known."""
    found = _SUBJECT.search(sentence)
    return next(part for part in found.groups() if part).lower() if found else None


def speaks_of_self(sentence: str) -> bool:
    """Whether the user says who they are, what they like or what to remember."""
    return bool(_ABOUT_SELF.search(sentence))


def equates(sentence: str) -> bool:
    """Whether a sentence says that something is something (`the budget is 2000 EUR`)."""
    if _POINTS_BACK.match(sentence):
        return False
    words = sentence.split()
    short = 1 < len(words) <= _FEW_WORDS and words[0].isalpha()
    return short or bool(_EQUATES.search(sentence))


def is_question(sentence: str) -> bool:
    """Whether a sentence ends as a question."""
    return sentence.endswith(("?", "\uff1f"))


def is_unknown(sentence: str) -> bool:
    """Whether a sentence says that something is not known (`I don't have the number`)."""
    return bool(_NOT_KNOWN.search(sentence))


def asks_for(sentence: str) -> bool:
    """Whether a sentence of the agent wants an answer."""
    return bool(_ASKS_FOR.search(sentence)) and not _OFFER.match(sentence)


def names_next_step(sentence: str) -> bool:
    """Whether a sentence plainly says what is still to be done."""
    return bool(_NEXT_STEP.search(sentence))


def error_line(result: str) -> str:
    """Return the line of a failed result that says what failed, or its first one."""
    lines = [" ".join(line.split()) for line in result.split("\n")]
    lines = [line for line in lines if line] or [""]
    return next((line for line in lines if _ERROR_WORD.search(line)), lines[0])


def looks_failed(result: str) -> bool:
    """Whether a tool's result reads like an error."""
    return bool(_FAILURE.match(result[:300]) or _FAILURE_END.search(result[-200:]))
