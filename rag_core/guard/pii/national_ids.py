"""Checksums of identity numbers that are recognised without a word before them, and of vehicles."""

import re
from datetime import date

from rag_core.guard.pii.validators import has_luhn_check_digit

# values of letters and digits at odd places of a codice fiscale (Decreto ministeriale of 23 December 1976)
ODD_PLACE_VALUES = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            *(
                1,
                0,
                5,
                7,
                9,
                13,
                15,
                17,
                19,
                21,
                1,
                0,
                5,
                7,
                9,
                13,
                15,
                17,
                19,
                21,
                2,
                4,
                18,
                20,
                11,
                3,
                6,
                8,
                12,
                14,
                16,
            ),
            *(10, 22, 25, 24, 23),
        ),
        strict=True,
    )
)
DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
# ISO 3779 as in 49 CFR 565.15: values of letters, weights of places
VIN_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True))
VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_vin(value: str) -> bool:
    """Return whether a vehicle's number has the check digit that North America requires."""
    if value.isdigit() or value.isalpha() or not value[-4:].isdigit():
        return False
    total = sum(
        (int(sign) if sign.isdigit() else VIN_VALUES[sign]) * w for sign, w in zip(value, VIN_WEIGHTS, strict=True)
    )
    return value[8] == "0123456789X"[total % 11]


def is_codice_fiscale(value: str) -> bool:
    """Return whether the last letter of an Italian fiscal code is the check letter of the others."""
    plain = value.replace(" ", "")
    odd = sum(ODD_PLACE_VALUES[sign] for sign in plain[:15:2])
    even = sum(int(sign) if sign.isdigit() else ord(sign) - ord("A") for sign in plain[1:15:2])
    return plain[15] == chr(ord("A") + (odd + even) % 26)


def is_nir(value: str) -> bool:
    """Return whether the key of a French social security number is right: 97 less the remainder of the number by 97."""
    plain = value.replace(" ", "").replace("2A", "19").replace("2B", "18")
    return plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])


def is_cpf(value: str) -> bool:
    """Return whether both check digits of a Brazilian CPF are right (MOD 11)."""
    digits = [int(sign) for sign in value if sign.isdigit()]
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    return all(
        sum(digit * weight for digit, weight in zip(digits, range(n + 1, 1, -1), strict=False)) * 10 % 11 % 10
        == digits[n]
        for n in (9, 10)
    )


def is_nie(value: str) -> bool:
    """Return whether the last letter of a Spanish number for foreigners is right: its remainder by 23."""
    plain = re.sub(r"[ .-]", "", value)
    return DNI_LETTERS[int(str("XYZ".index(plain[0])) + plain[1:-1]) % 23] == plain[-1]


def is_personnummer(value: str) -> bool:
    """Return whether a Swedish number has a day of birth (60 more for a coordination number) and the Luhn digit."""
    digits = "".join(filter(str.isdigit, value))[-10:]
    try:
        date(2000, int(digits[2:4]), int(digits[4:6]) % 60)
    except ValueError:
        return False
    return has_luhn_check_digit(digits)
