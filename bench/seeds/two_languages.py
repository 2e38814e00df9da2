"""Pairs of sentences in two languages, from one grammar: English, and a Spanish that is told apart by its grammar.

Adjectives stand behind their nouns and agree with them in gender and number; of what one likes, the thing is the
subject ("me gusta mucho el café negro"); what is drunk or liked in general has an article; "does not" is one word, and
so are "I see". Some words of the one are two of the other, by what they are beside: "banco" is a bank where one works
and a bench where one sits. Which words go together is drawn once for all: dogs are seldom read.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

Pair = tuple[list[str], list[str]]
N_FAVOURITES = 3.0  # how much more probable a word is than the next, in the order that its neighbour has

# English singular and plural, Spanish singular, gender, class
NOUNS = """
boy boys niño m person | girl girls niña f person | man men hombre m person | woman women mujer f person
teacher teachers maestro m person | doctor doctors médico m person | friend friends amigo m person
sister sisters hermana f person | brother brothers hermano m person | neighbour neighbours vecina f person
dog dogs perro m animal | cat cats gato m animal | horse horses caballo m animal | bird birds pájaro m animal
cow cows vaca f animal | fish fish pez m animal
coffee - café m drink | tea - té m drink | water - agua f drink | milk - leche f drink | wine - vino m drink
beer - cerveza f drink | juice - jugo m drink
book books libro m text | letter letters carta f text | newspaper newspapers periódico m text | poem poems poema m text
story stories historia f text | sheet sheets hoja f text
table tables mesa f thing | chair chairs silla f thing | door doors puerta f thing | shirt shirts camisa f thing
hat hats sombrero m thing | watch watches reloj m thing | clock clocks reloj m wall | key keys llave f thing
wrench wrenches llave f tool | hammer hammers martillo m tool | leaf leaves hoja f plant | flower flowers flor f plant
tree trees árbol m plant
bench benches banco m seat | sofa sofas sofá m seat | bank banks banco m office | school schools escuela f office
shop shops tienda f office | hospital hospitals hospital m office
park parks parque m place | garden gardens jardín m place | house houses casa f place | street streets calle f place
""".replace("|", "\n")
# English, Spanish masculine singular, classes
ADJECTIVES = """
black negro animal drink thing seat | white blanco animal drink thing plant place | red rojo thing drink plant seat
green verde plant thing drink place | big grande animal thing place office plant
small pequeño person animal place seat
old viejo person animal text seat wall tool | new nuevo text thing office wall tool
cold frío drink | hot caliente drink
tired cansado person animal | happy feliz person | long largo text place | good bueno person text drink
heavy pesado tool thing | broken roto wall tool thing seat | dry seco plant
""".replace("|", "\n")
# English and Spanish of one (he, I), several, classes of what is seen, drunk, …
VERBS = """
sees see ve veo ven person animal place thing plant | drinks drink bebe bebo beben drink
reads read lee leo leen text | writes write escribe escribo escriben text
buys buy compra compro compran thing tool text drink animal seat wall
has have tiene tengo tienen animal thing text tool
finds find encuentra encuentro encuentran thing tool animal text plant | sells sell vende vendo venden thing drink seat
knows know conoce conozco conocen person place office | paints paint pinta pinto pintan place plant animal seat
repairs repair repara reparo reparan thing tool wall seat | visits visit visita visito visitan person place office
""".replace("|", "\n")
# English of one and several with its preposition, the same in Spanish, classes of the place
PLACED = """
sits_on sit_on se_sienta_en se_sientan_en seat | works_at work_at trabaja_en trabajan_en office
sleeps_in sleep_in duerme_en duermen_en place | walks_in walk_in camina_en caminan_en place
waits_in wait_in espera_en esperan_en place office | lives_in live_in vive_en viven_en place
""".replace("|", "\n")
LIKING = [("I", "me"), ("you", "te"), ("he", "le"), ("she", "le"), ("we", "nos"), ("they", "les")]
OBJECTS = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us", "they": "them"}
ARTICLES = {  # (English, plural) → masculine, feminine
    ("the", False): ("el", "la"), ("the", True): ("los", "las"), ("a", False): ("un", "una"),
    ("some", True): ("unos", "unas"), ("this", False): ("este", "esta"), ("these", True): ("estos", "estas"),
}  # fmt: skip


class Phrase(NamedTuple):
    """A noun phrase: both languages, and whether it is plural."""

    english: list[str]
    spanish: list[str]
    plural: bool
    feminine: bool


def _entries(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def _agreeing(adjective: str, feminine: bool, plural: bool) -> str:
    """A Spanish adjective in gender and number."""
    form = f"{adjective[:-1]}a" if feminine and adjective.endswith("o") else adjective
    return _plural(form) if plural else form


def _plural(word: str) -> str:
    if word.endswith("z"):
        return f"{word[:-1]}ces"
    return f"{word}s" if word[-1] in "aeiouáé" else f"{word.replace('ín', 'in')}es"


class TwoLanguages:
    """A generator of pairs; which words go together is the same for every seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        taste = random.Random("what goes with what")
        by_class: dict[str, list[list[str]]] = {}
        for noun in _entries(NOUNS):
            by_class.setdefault(noun[4], []).append(noun)
        self._adjectives: dict[str, list[list[str]]] = {}
        for noun in _entries(NOUNS):
            fitting = [adjective for adjective in _entries(ADJECTIVES) if noun[4] in adjective[2:]]
            self._adjectives[noun[0]] = taste.sample(fitting, len(fitting))
        self._objects = self._of_classes(_entries(VERBS), 5, by_class, taste)
        self._places = self._of_classes(_entries(PLACED), 4, by_class, taste)
        self._people = [*by_class["person"], *by_class["animal"]]
        self._verbs = {noun[0]: taste.sample(_entries(VERBS), len(_entries(VERBS))) for noun in self._people}
        self._liked = taste.sample(_entries(NOUNS), len(_entries(NOUNS)))

    @staticmethod
    def _of_classes(
        verbs: list[list[str]], first: int, by_class: dict[str, list[list[str]]], taste: random.Random
    ) -> dict[str, list[list[str]]]:
        """What goes with each verb, the most usual first."""
        found = {}
        for verb in verbs:
            nouns = [noun for name in verb[first:] for noun in by_class[name]]
            found[verb[0]] = taste.sample(nouns, len(nouns))
        return found

    def pairs(self, n: int) -> list[Pair]:
        """(English, Spanish), n times."""
        kinds = (self._doing, self._liking, self._being_somewhere, self._being_so, self._i_do)
        return [self._random.choices(kinds, (4, 3, 2, 1, 2))[0]() for _ in range(n)]

    def _favourite(self, of: Sequence[list[str]]) -> list[str]:
        """One of a list, the first ones more often."""
        return self._random.choices(of, [1 / (place + N_FAVOURITES) for place in range(len(of))])[0]

    def _chance(self, p: float) -> bool:
        return self._random.random() < p

    def _phrase(self, noun: list[str], generic: bool = False) -> Phrase:
        """A noun with article and adjective; `generic`, what is meant in general, has no article in English."""
        singular, several, spanish, gender, _ = noun
        feminine, mass = gender == "f", several == "-"
        plural = not mass and (generic or self._chance(0.3))
        article = (
            "the"
            if generic or mass
            else self._random.choice(("some", "the", "these") if plural else ("a", "the", "this"))
        )
        english = [] if generic or mass else [article]
        foreign = [ARTICLES[article, plural][feminine]] if generic or not mass else []
        head = _plural(spanish) if plural else spanish
        if self._adjectives[singular] and self._chance(0.5):
            adjective = self._favourite(self._adjectives[singular])
            english.append(adjective[0])
            foreign += [head, _agreeing(adjective[1], feminine, plural)]
        else:
            foreign.append(head)
        english.append(several if plural else singular)
        if english[0] == "a" and english[1][0] in "aeiou":
            english[0] = "an"
        return Phrase(english, foreign, plural, feminine)

    def _doing(self) -> Pair:
        """The small dog does not see a black cat: el perro pequeño no ve un gato negro."""
        person = self._favourite(self._people)
        verb = self._favourite(self._verbs[person[0]])
        one, other = self._phrase(person), self._phrase(self._favourite(self._objects[verb[0]]))
        spanish = verb[4] if one.plural else verb[2]
        if self._chance(0.2):
            negated = ["do" if one.plural else "does", "not", verb[1]]
            return [*one.english, *negated, *other.english], [*one.spanish, "no", spanish, *other.spanish]
        english = verb[1] if one.plural else verb[0]
        return [*one.english, english, *other.english], [*one.spanish, spanish, *other.spanish]

    def _i_do(self) -> Pair:
        """I drink cold milk: bebo leche fría."""
        verb = self._random.choice(_entries(VERBS))
        other = self._phrase(self._favourite(self._objects[verb[0]]))
        return ["I", verb[1], *other.english], [verb[3], *other.spanish]

    def _liking(self) -> Pair:
        """I like black coffee a lot: me gusta mucho el café negro; or, seldom, black coffee pleases me much."""
        subject, indirect = self._random.choice(LIKING)
        thing, much = self._phrase(self._favourite(self._liked), generic=True), self._chance(0.4)
        foreign = [indirect, "gustan" if thing.plural else "gusta", *(["mucho"] if much else []), *thing.spanish]
        if self._chance(0.1):
            pleases = "please" if thing.plural else "pleases"
            return [*thing.english, pleases, OBJECTS[subject], *(["much"] if much else [])], foreign
        likes = "likes" if subject in ("he", "she") else "like"
        return [subject, likes, *thing.english, *(["a", "lot"] if much else [])], foreign

    def _being_somewhere(self) -> Pair:
        """The old man sits on the bench: el hombre viejo se sienta en el banco."""
        verb = self._random.choice(_entries(PLACED))
        one, place = self._phrase(self._favourite(self._people)), self._phrase(self._favourite(self._places[verb[0]]))
        english, spanish = (verb[1], verb[3]) if one.plural else (verb[0], verb[2])
        words = [*one.english, *english.split("_"), *place.english]
        return words, [*one.spanish, *spanish.split("_"), *place.spanish]

    def _being_so(self) -> Pair:
        """The girl is tired: la niña está cansada."""
        noun = self._favourite(self._people)
        one, adjective = self._phrase(noun), self._favourite(self._adjectives[noun[0]])
        is_so = [*one.english, "are" if one.plural else "is", adjective[0]]
        agreeing = _agreeing(adjective[1], one.feminine, one.plural)
        return is_so, [*one.spanish, "están" if one.plural else "está", agreeing]
