"""From text to syntax tree and back: lexer, grammar, parser, tree, printer."""
