"""Words that are in every English text and say nothing of what it is about. Without them a query is both better and faster."""

from __future__ import annotations

_WORDS = """
    a an the this that these those such same other another each every any some all both few more most much many no none
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves one who whom whose which what when where why how
    am is are was were be been being do does did doing done have has had having will would shall should can could may might
    must ought let lets get gets got
    and or but nor if then else than so as because while until unless though although whether
    at by for from in into of off on onto out over to too under up upon with within without about above after again against
    before below between down during further near per since through toward towards via
    not never only own very just also even ever still yet already here there now once quite rather really
    yes ok okay please
    s t d m o y ll re ve don doesn didn isn aren wasn weren haven hasn hadn won wouldn shouldn couldn mustn needn ain shan mightn
    im ive id
"""
STOP_WORDS = frozenset(_WORDS.split())
