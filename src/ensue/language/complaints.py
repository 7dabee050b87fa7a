"""stub"""
def complain(tokens, at, expected, inside):
    from ensue.errors import Diagnostic
    return Diagnostic("E100", tokens[at].span, f"unexpected {tokens[at].text!r}, expected {sorted(expected)}")
