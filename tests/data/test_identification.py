from regard.data.identification import language_of_lines, ranked_languages

FRENCH = [
    "Va !",
    "Je suis malade.",
    "Où est la gare ?",
    "Il fait très froid ce matin.",
    "Nous mangeons du pain.",
    "Elle a acheté une voiture.",
    "Que faites-vous ici ?",
] * 3
GERMAN = [
    "Geh.",
    "Ich bin krank.",
    "Wo ist der Bahnhof?",
    "Heute Morgen ist es sehr kalt.",
    "Wir essen Brot.",
    "Sie hat ein Auto gekauft.",
    "Was machst du hier?",
] * 3


def test_the_language_of_short_sentences() -> None:
    assert language_of_lines(FRENCH) == "fr"
    assert language_of_lines(GERMAN) == "de"
    assert language_of_lines(["我喜欢狗。", "他在哪里？", "今天很冷。"] * 7) == "zh"
    assert language_of_lines(["أين المحطة؟", "أنا مريض.", "الجو بارد جدا اليوم.", "نحن نأكل الخبز."] * 7) == "ar"


def test_what_is_in_doubt_has_no_language() -> None:
    assert language_of_lines(FRENCH[:5]) is None  # too few to tell
    assert language_of_lines([one for pair in zip(FRENCH, GERMAN, strict=True) for one in pair]) is None
    assert language_of_lines(["2001-05-03", "1999-12-31", "1970-01-01"] * 5) is None
    assert language_of_lines(["I_JUMP I_TURN_LEFT", "I_RUN I_RUN", "I_LOOK"] * 5) is None


def test_all_languages_are_ranked() -> None:
    ranked = ranked_languages("Where is the station, please?")
    assert ranked[0][0] == "en"
    assert abs(sum(share for _, share in ranked) - 1) < 1e-3
