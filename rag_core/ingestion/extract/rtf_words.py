"""What the control words of RTF mean, as far as the text depends on them (Rich Text Format Specification 1.9.1)."""

# of groups whose content is no text of the document; any other such group begins with \*
UNREAD_GROUPS = frozenset({
    "aftncn", "aftnsep", "aftnsepc", "atnid", "bkmkend", "bkmkstart", "colortbl", "fldinst", "filetbl", "fonttbl",
    "footer", "footerf", "footerl", "footerr", "ftncn", "ftnsep", "ftnsepc", "header", "headerf", "headerl", "headerr",
    "info", "nonesttables", "objalias", "objclass", "objdata", "objname", "objsect", "pict", "private1", "rxe",
    "shprslt", "sp", "stylesheet", "tc", "tcn", "template", "txe", "xe",
})  # fmt: skip
READ_STARRED_GROUPS = frozenset({"shpinst", "shpgrp", "listtext", "pntext"})  # of text boxes, and of the marks of lists
SPECIAL_CHARACTERS = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "emspace": "\u2003", "enspace": "\u2002",
    "qmspace": "\u2005", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "nestcell": " ", "nestrow": " ",
}  # fmt: skip
SYMBOLS = {"~": "\xa0", "_": "\u2011", "-": "\xad", "\\": "\\", "{": "{", "}": "}", "\n": "\n", "\r": "\n"}
CODEC_BY_CHARSET = {  # of \fcharset
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
