"""Every operator on every kind of column."""

from __future__ import annotations

from tests.predicates.expressions import LIST_COLUMNS

_NULL_TESTS = ("{0} IS NULL", "{0} IS NOT NULL")
_ON_NUMBERS = (
    *_NULL_TESTS,
    *"{0}=7 {0}!={0} {0}<0.5 7<={0} {0}+1>2 {0}-{0}=0 {0}*{0}>=49 {0}/{0}=1 {0}%2=1".split(),
    *"-{0}<0 abs({0})>=7 round({0})=1 floor({0})<2 ceil({0})>-3 sqrt({0})>1".split(),
    *"coalesce({0},1)=1 coalesce({0},0.5)<=0.5 2%{0}=2 sign({0})<0 greatest({0},1,j)=1".split(),
    *"least({0},d)<1 power({0},2)=49 power(2,{0})>4 ln({0})>=0 exp({0})<3".split(),
    *"geo_distance({0},e,e,{0})>1000 greatest({0})=7".split(),
    "CASE WHEN {0} > 1 THEN {0} WHEN b THEN 0.5 ELSE i END <= 7",
    "CASE WHEN b THEN {0} END = 1",
    "{0} IN (0, 7, NULL)",
    "{0} NOT IN (0, 1.5, 9007199254740993)",
    "{0} BETWEEN -7 AND 7",
    "{0} NOT BETWEEN j AND d",
)
_ON_STRINGS = (
    *_NULL_TESTS,
    *"{0}='a' 'a'!={0} {0}<'b' 'a'<={0} {0}=s t>={0} {0}={0}".split(),
    *"lower({0})='a' upper({0})>'A' length({0})=1 coalesce({0},'a')='a'".split(),
    *"trim({0})='a' substring({0},2)='b' substring({0},-2,1)='a' substring({0},1,j)=s".split(),
    *"replace({0},'a','b')='bb' replace({0},s,t)=s".split(),
    *"concat({0},'b')='ab' concat(s,{0},t)='aa'".split(),
    *"split_part({0},'a',1)='' split_part({0},'.',-1)='3' split_part({0},s,2)='b'".split(),
    *"regexp_extract({0},'^(.)b')='a' greatest({0},s)='a' least({0},'b',t)<'b'".split(),
    "cidr_match({0}, '10.0.0.0/8')",
    "NOT cidr_match({0}, 'fd00::/8')",
    "CASE WHEN {0} = 'a' THEN 'x' WHEN b THEN {0} ELSE t END > 'a'",
    "length(CASE WHEN b THEN {0} END) = 1",
    *"starts_with({0},'a') ends_with({0},'b') contains({0},'') contains({0},s)".split(),
    "{0} IN ('a', 'b', '')",
    "{0} NOT IN ('a', 'é')",
    "{0} NOT IN ('a', NULL)",
    "{0} LIKE 'a%'",
    "{0} NOT LIKE '_'",
    "{0} RLIKE '^[a-z]'",
    "{0} BETWEEN 'A' AND 'a'",
)
_ON_TIMES = (
    *_NULL_TESTS,
    *"hour({0})=23 minute({0})>30 day({0})<15 month({0})=2 year({0})<1970".split(),
    *"date_diff('hour',{0},day)>1 date_diff('months',{0},at_ns)=0 greatest({0},at_us)=day".split(),
    *"date_diff('microsecond',at_s,{0})<0 date_diff('year',day,{0})>=-1".split(),
    "least({0}, at_ms) = day",
    *"day_of_week({0})>5 {0}=day {0}<at_ns {0}>=at_s coalesce({0},day)=day".split(),
    "{0} > TIMESTAMP '2026-01-31 09:30:00'",
    "{0} + 5 MINUTES > DATE '2000-02-29'",
    "{0} - 1 DAY < at_ms",
    "{0} - day >= 0 SECONDS",
    "{0} NOT IN (DATE '1970-01-01', NULL)",
)
_ON_DURATIONS = (
    *_NULL_TESTS,
    *"{0}={0} {0}-{0}<{0} {0}*2>lasts {0}/2<lasts_us {0}/lasts=1 -{0}<{0}".split(),
    "{0} >= 5 MINUTES",
    "{0} + 1 HOUR > 3 SECONDS",
    "day + {0} > at_s",
)
_ON_BOOLEANS = (
    *_NULL_TESTS,
    *"{0}=TRUE {0}!=c {0}<c coalesce({0},c)=TRUE".split(),
    "NOT {0}",
    "{0} AND c",
    "{0} OR c",
    "NOT {0} OR NOT c",
    "NULL AND {0}",
    "{0} OR NULL",
    "{0} IN (TRUE)",
    "{0} NOT IN (FALSE, NULL)",
)
_ON_LISTS = (
    *_NULL_TESTS,
    "length({0}) = 2",
    "length(coalesce({0}, {0})) > 0",
    "NULL IN {0}",
    "NULL NOT IN {0}",
    "length({0}) > i",
)
_ON_LISTS_OF_STRINGS = (*"contains({0},'a') contains({0},s)".split(), "'a' IN {0}", "t NOT IN {0}")
_ON_LISTS_OF_NUMBERS = (
    *"contains({0},7) contains({0},0.5)".split(),
    "7 IN {0}",
    "9007199254740993 NOT IN {0}",
    "0.5 NOT IN {0}",
    "j IN {0}",
    "d + 1 IN {0}",
    "m IN {0}",
)
_NUMBER_COLUMNS = "i j short unsigned di n.x never d e single m n.y.d absent nothing NULL".split()
_STRING_COLUMNS = "s t u t8 view n.y.z type absent nothing NULL".split()
_TIME_COLUMNS = "at_s at_ms at_us at_ns day absent nothing".split()

SIMPLE: dict[str, list[str]] = {
    f"{column} as {kind}": [text.format(column) for text in texts]
    for kind, columns, texts in (
        ("a number", _NUMBER_COLUMNS, _ON_NUMBERS),
        ("a string", _STRING_COLUMNS, _ON_STRINGS),
        ("a time", _TIME_COLUMNS, _ON_TIMES),
        ("a duration", ["lasts", "lasts_us"], _ON_DURATIONS),
        ("a boolean", ["b", "absent", "nothing"], _ON_BOOLEANS),
        ("a list", LIST_COLUMNS, _ON_LISTS),
        ("strings", ["strings", "encoded", "empty", "absent"], _ON_LISTS_OF_STRINGS),
        ("numbers", ["ints", "doubles", "pairs", "empty", "absent"], _ON_LISTS_OF_NUMBERS),
    )
    for column in columns
}
"""For each column, what is asked of it."""
