"""The rows of three companies' databases, drawn at random: a hospital's, a shop's and a municipal utility's.

Their tables, views, descriptions and past questions stand in `evals/data/company_schemas`.
"""

import datetime
import random
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "company_schemas"
FIRST = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hannes", "Ida", "Jonas", "Karla", "Leon", "Mia")
LAST = ("Albers", "Brandt", "Cordes", "Dietz", "Ebert", "Falk", "Gerken", "Hinrichs", "Ihde", "Jansen", "Nagel")
Row = tuple[Any, ...]


class Maker:
    """Draws values and inserts rows into the database of one company."""

    def __init__(self, company: str, file: Path) -> None:
        self.draw = random.Random(company)
        self.connection = sqlite3.connect(file)
        self.connection.executescript((DATA / f"{company}.sql").read_text("utf-8"))

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        """Insert `rows`, each with a value for every column of `table`."""
        for row in rows:
            marks = ", ".join("?" * len(row))
            self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608 - a name of ours

    def fill(self, table: str, count: int, row: Callable[[int], Row]) -> None:
        """Insert `count` rows with the keys 1, 2 and so on."""
        self.insert(table, ((i, *row(i)) for i in range(1, count + 1)))

    def pick(self, *values: Any) -> Any:
        """Return one of the values."""
        return self.draw.choice(values)

    def often(self, share: float) -> int:
        """Return 1 with a chance of `share`, else 0."""
        return int(self.draw.random() < share)

    def some(self, share: float, value: Any) -> Any:
        """Return the value with a chance of `share`, else nothing."""
        return value if self.draw.random() < share else None

    def key(self, count: int) -> int:
        """Return a key of a table of `count` rows."""
        return self.draw.randint(1, count)

    def number(self, low: float, high: float, digits: int = 2) -> float:
        """Return a number between `low` and `high`."""
        return round(self.draw.uniform(low, high), digits)

    def day(self, first: str = "2025-01-01", days: int = 660) -> str:
        """Return one of the days after `first`."""
        return later(first, self.draw.randint(0, days))

    def time(self, first: str = "2025-01-01", days: int = 660) -> str:
        """Return a minute of one of the days after `first`."""
        return f"{self.day(first, days)} {self.draw.randint(0, 23):02}:{self.draw.randint(0, 59):02}:00"

    def hours_after(self, time: str, most: float) -> str:
        """Return a time up to `most` hours after `time`."""
        return str(
            datetime.datetime.fromisoformat(time) + datetime.timedelta(minutes=self.draw.randint(1, int(most * 60)))
        )


def later(day: str, days: int) -> str:
    """Return the day `days` days after `day`."""
    return str(datetime.date.fromisoformat(day) + datetime.timedelta(days=days))


def make_hospital(m: Maker) -> None:
    """Make a hospital of three sites."""
    m.insert(
        "site",
        [
            (1, "Main Building", "Oldenburg", "1974-05-02"),
            (2, "Children's Pavilion", "Oldenburg", "1999-09-01"),
            (3, "Coast Clinic", "Wilhelmshaven", "2008-03-15"),
        ],
    )
    wards = [
        ("Stroke Unit", "Neurology", 1),
        ("Intensive Care 1", "Anaesthesiology", 1),
        ("Ward 3A", "Cardiology", 0),
        ("Ward 3B", "General Surgery", 0),
        ("Ward 4A", "Orthopaedics", 0),
        ("Maternity", "Obstetrics", 0),
        ("Neonatal Care", "Paediatrics", 1),
        ("Ward 5", "Geriatrics", 0),
        ("Ward 6", "Oncology", 0),
    ]
    m.insert(
        "ward", ((i, m.key(3), name, of, m.pick(12, 16, 24, 30), care) for i, (name, of, care) in enumerate(wards, 1))
    )
    m.fill("bed", 90, lambda i: (m.key(9), f"B{i:02}", m.pick("occupied", "free", "cleaning", "blocked")))
    m.fill(
        "staff_member",
        120,
        lambda i: (
            m.pick(*FIRST),
            m.pick(*LAST),
            m.pick("nurse", "nurse", "consultant", "resident", "physiotherapist", "pharmacist"),
            m.pick(*wards)[1],
            m.key(9),
            m.day("2005-01-01", 7500),
            m.some(0.15, m.day()),
            m.pick(0.5, 0.75, 1.0),
        ),
    )
    m.fill(
        "insurer",
        6,
        lambda i: (("AOK", "TK", "Barmer", "DAK", "Allianz", "Debeka")[i - 1], "statutory" if i < 5 else "private"),
    )
    m.fill(
        "gp_practice",
        20,
        lambda i: (f"Practice {LAST[i % 11]}", m.pick("Oldenburg", "Rastede", "Wiefelstede", "Jever", "Varel")),
    )
    m.fill(
        "patient",
        400,
        lambda i: (
            f"M{100000 + i}",
            m.pick(*FIRST),
            m.pick(*LAST),
            m.day("1935-01-01", 31000),
            m.pick("F", "M"),
            f"26{m.draw.randint(100, 999)}",
            m.key(6),
            m.key(20),
            m.some(0.05, m.day()),
        ),
    )
    m.fill(
        "allergy",
        120,
        lambda i: (
            m.key(400),
            m.pick("penicillin", "latex", "peanut", "iodine contrast", "ibuprofen", "pollen"),
            m.pick("mild", "moderate", "anaphylaxis"),
            m.day(),
        ),
    )
    kinds: dict[int, tuple[str, str, str | None]] = {}

    def encounter(i: int) -> Row:
        kind, start = m.pick("IMP", "IMP", "AMB", "EMER"), m.time()
        end = m.some(0.95, m.hours_after(start, {"IMP": 400, "AMB": 3, "EMER": 12}[kind]))
        kinds[i] = (kind, start, end)
        return (
            m.key(400),
            m.key(3),
            kind,
            start,
            end,
            m.pick("home", "nursing home", "other hospital", "ambulance"),
            end and m.pick("HOME", "HOME", "HOME", "TRANSFER", "REHAB", "AMA", "EXP"),
            m.key(120),
        )

    m.fill("encounter", 900, encounter)
    inpatient = [key for key, (kind, *_) in kinds.items() if kind == "IMP"]
    emergency = [key for key, (kind, *_) in kinds.items() if kind == "EMER"]
    stays: list[Row] = []
    for key in inpatient:
        _, start, end = kinds[key]
        moves = m.key(3)
        for move in range(moves):
            stop = end if move == moves - 1 else m.hours_after(start, 90)
            stays.append((len(stays) + 1, key, m.key(9), m.key(90), start, stop))
            start = stop or start
    m.insert("ward_stay", stays)
    m.insert(
        "triage",
        (
            (
                i,
                key,
                kinds[key][1],
                m.hours_after(kinds[key][1], 5),
                m.key(5),
                m.pick("chest pain", "fall", "abdominal pain", "shortness of breath", "headache", "cut"),
                m.key(120),
            )
            for i, key in enumerate(emergency, 1)
        ),
    )
    codes = [
        ("I21.9", "Acute myocardial infarction, unspecified", "Circulatory"),
        ("I63.9", "Cerebral infarction, unspecified", "Circulatory"),
        ("J18.9", "Pneumonia, unspecified organism", "Respiratory"),
        ("S72.0", "Fracture of neck of femur", "Injury"),
        ("E11.9", "Type 2 diabetes mellitus", "Endocrine"),
        ("A41.9", "Sepsis, unspecified organism", "Infectious"),
        ("O80", "Single spontaneous delivery", "Pregnancy"),
        ("C50.9", "Malignant neoplasm of breast", "Neoplasms"),
        ("L89.9", "Pressure ulcer", "Skin"),
    ]
    m.insert("icd10_code", codes)
    m.fill("diagnosis", 2000, lambda i: (m.key(900), m.pick(*codes)[0], m.pick(1, 2, 3), m.often(0.8)))
    m.fill("theatre", 5, lambda i: (m.key(3), f"OR {i}"))
    ops = [
        ("5-820", "Total hip replacement", 1),
        ("5-740", "Caesarean section", 1),
        ("5-511", "Cholecystectomy", 1),
        ("1-632", "Gastroscopy", 0),
        ("5-361", "Coronary bypass", 1),
        ("8-800", "Transfusion of blood products", 0),
    ]
    m.insert("procedure_code", ops)
    m.fill(
        "procedure_performed",
        500,
        lambda i: (
            m.key(900),
            m.pick(*ops)[0],
            m.time(),
            m.key(120),
            m.key(5),
            m.pick("general", "spinal", "local", "none"),
            m.draw.randint(15, 260),
        ),
    )
    tests = [
        ("K", "Potassium", "mmol/l", 3.5, 5.1),
        ("HB", "Haemoglobin", "g/dl", 12, 17),
        ("CRP", "C-reactive protein", "mg/l", 0, 5),
        ("TNT", "Troponin T", "ng/l", 0, 14),
        ("CREA", "Creatinine", "mg/dl", 0.5, 1.2),
        ("A1C", "Haemoglobin A1c", "%", 4, 6),
    ]
    m.insert("lab_test", tests)
    ordered: list[tuple[str, str]] = []

    def order(i: int) -> Row:
        ordered.append((m.pick(*tests)[0], m.time()))
        return (m.key(900), *ordered[-1], m.key(120), m.pick("R", "R", "U", "S"))

    m.fill("lab_order", 1500, order)
    m.fill(
        "lab_result",
        1400,
        lambda i: (i, m.number(0, 20), m.pick("", "", "H", "L", "HH", "LL"), m.hours_after(ordered[i - 1][1], 8)),
    )
    drugs = [
        ("metoprolol", "C07AB02", 0),
        ("ibuprofen", "M01AE01", 0),
        ("morphine", "N02AA01", 1),
        ("piperacillin", "J01CA12", 0),
        ("enoxaparin", "B01AB05", 0),
        ("insulin glargine", "A10AE04", 0),
        ("oxycodone", "N02AA05", 1),
        ("vancomycin", "J01XA01", 0),
    ]
    m.fill("medication", 8, lambda i: drugs[i - 1])
    m.fill(
        "prescription",
        1200,
        lambda i: (
            m.key(900),
            m.key(8),
            m.pick(5, 10, 50, 400, 500),
            m.pick("PO", "IV", "SC"),
            m.time(),
            m.some(0.8, m.time("2026-01-01", 300)),
            m.key(120),
        ),
    )

    def dose(i: int) -> Row:
        due = m.time()
        status = m.pick("given", "given", "given", "refused", "omitted")
        return (m.key(1200), due, m.hours_after(due, 3) if status == "given" else None, m.key(120), status)

    m.fill("administration", 3000, dose)
    m.fill(
        "vital_sign",
        3000,
        lambda i: (
            m.key(900),
            m.time(),
            m.pick("temperature", "heart rate", "systolic bp", "spo2", "pain score"),
            m.number(0, 140, 1),
        ),
    )
    m.fill("outpatient_clinic", 7, lambda i: (m.key(3), f"{wards[i + 1][1]} Clinic", wards[i + 1][1]))
    m.fill(
        "appointment",
        800,
        lambda i: (
            m.key(400),
            m.key(7),
            m.key(120),
            m.day(),
            m.time(),
            m.pick("attended", "attended", "cancelled", "no-show", "rebooked"),
        ),
    )
    m.fill(
        "referral",
        300,
        lambda i: (
            m.key(400),
            m.key(20),
            m.key(7),
            m.day(),
            m.pick("routine", "urgent", "two-week"),
            m.pick("accepted", "rejected", "redirected"),
        ),
    )
    m.fill(
        "incident",
        150,
        lambda i: (
            m.key(9),
            m.some(0.8, m.key(900)),
            m.day(),
            m.pick("fall", "medication error", "pressure injury", "equipment failure", "wrong patient"),
            m.pick("none", "low", "moderate", "severe"),
        ),
    )
    m.fill(
        "invoice",
        800,
        lambda i: (
            i,
            m.key(6),
            m.draw.randint(4000, 2500000),
            m.day(),
            m.some(0.7, m.day()),
            m.pick("paid", "open", "disputed", "written off"),
        ),
    )
    m.fill(
        "shift",
        2000,
        lambda i: (m.key(120), m.key(9), m.time(), m.pick(7.5, 8, 10, 12), m.pick("early", "late", "night", "on-call")),
    )


def make_shop(m: Maker) -> None:
    """Make a shop with two warehouses, suppliers and returns."""
    m.insert(
        "t_cust_grp",
        [
            (1, "RET", "Retail", 0),
            (2, "B2B", "Business", 5),
            (3, "VIP", "Gold members", 10),
            (4, "EMP", "Staff purchase", 20),
        ],
    )
    m.fill(
        "t_cust",
        300,
        lambda i: (
            f"C{70000 + i}",
            m.pick(*LAST),
            m.pick(*FIRST),
            f"c{i}@example.org",
            m.key(4),
            m.pick("de", "en", "nl", "fr"),
            m.day("2019-01-01", 2700),
            m.often(0.05),
            m.often(0.4),
            m.pick(0, 500, 1000, 5000),
        ),
    )
    m.fill(
        "t_cust_addr",
        450,
        lambda i: (
            m.key(300),
            m.pick("B", "D"),
            f"{m.pick('Hafen', 'Linden', 'Markt')}str. {m.key(90)}",
            f"{m.draw.randint(10000, 99999)}",
            m.pick("Hamburg", "Bremen", "Utrecht", "Lyon", "Graz"),
            m.pick("DE", "NL", "FR", "AT"),
        ),
    )
    stats = [
        ("10", "entered"),
        ("20", "released for picking"),
        ("30", "partly shipped"),
        ("40", "shipped"),
        ("50", "closed"),
        ("90", "cancelled"),
    ]
    m.insert("t_ord_stat", stats)
    m.insert("t_chnl", [("WEB", "Web shop"), ("APP", "Mobile app"), ("TEL", "Telephone"), ("MKT", "Marketplace")])
    m.fill(
        "t_prm",
        8,
        lambda i: (
            ("SPRING10", "WELCOME", "BLACKWEEK", "FREESHIP", "SUMMER", "XMAS", "LOYAL", "FLASH")[i - 1],
            m.pick("Seasonal campaign", "New customers", "Loyalty"),
            m.day(),
            m.day("2026-06-01", 200),
            m.pick(5, 10, 15),
        ),
    )

    def order(i: int) -> Row:
        stat = m.pick("10", "20", "30", "40", "40", "50", "50", "90")
        net = m.number(10, 900)
        return (
            f"O{400000 + i}",
            m.key(300),
            m.day(),
            stat,
            m.pick("WEB", "WEB", "APP", "TEL", "MKT"),
            m.key(450),
            m.some(0.3, m.key(40)),
            m.pick("EUR", "EUR", "CHF"),
            net,
            round(net * 0.19, 2),
            m.pick(0, 4.9, 9.9),
            m.some(0.3, m.key(8)),
            m.day() if stat == "90" else None,
        )

    m.fill("t_ord_hdr", 900, order)
    m.insert(
        "t_ord_pos",
        (
            (o, p, m.key(150), m.key(6), m.number(3, 200), m.pick(0, 0, 5), m.pick("O", "P", "S", "B"))
            for o in range(1, 901)
            for p in range(1, m.key(4) + 1)
        ),
    )
    groups = ["Garden", "Lawn mowers", "Hand tools", "Power tools", "Paint", "Lighting", "Plumbing", "Adhesives"]
    m.fill("t_art_grp", 8, lambda i: (groups[i - 1], m.some(0.4, 1), m.key(40)))
    m.fill(
        "t_art",
        150,
        lambda i: (
            f"A-{i:05}",
            f"{m.pick('Bosch', 'Makita', 'Gardena')} {m.pick('drill', 'hose', 'lamp', 'sealant', 'saw', 'rake')} {i}",
            m.key(8),
            f"40{m.draw.randint(10**10, 10**11 - 1)}",
            m.draw.randint(50, 30000),
            m.often(0.9),
            m.day("2018-01-01", 2500),
            m.some(0.1, m.day()),
            m.pick(5, 10, 50),
            m.often(0.1),
        ),
    )
    m.insert(
        "t_art_prc",
        (
            (a, "2025-01-01", m.some(0.5, "2026-01-01"), t, m.number(3, 250))
            for a in range(1, 151)
            for t in ("STD", "SAL")
        ),
    )
    m.fill(
        "t_supp",
        25,
        lambda i: (
            f"{m.pick(*LAST)} {m.pick('GmbH', 'BV', 'SARL')}",
            m.pick("DE", "NL", "CN"),
            m.pick(3, 7, 14, 45, 60),
            m.pick(14, 30, 60),
            m.pick("A", "B", "C"),
        ),
    )
    m.insert(
        "t_supp_art",
        (
            (s, a, f"S{s}-{a}", m.number(1, 120), m.pick(1, 10, 100), m.often(0.5))
            for a in range(1, 151)
            for s in m.draw.sample(range(1, 26), 2)
        ),
    )
    m.fill(
        "t_po_hdr", 200, lambda i: (f"P{9000 + i}", m.key(25), m.day(), m.day(), m.pick("O", "P", "C", "X"), m.key(2))
    )
    m.insert(
        "t_po_pos",
        (
            (p, n, m.key(150), q := m.pick(10, 50, 100), m.pick(q, q, q - 5, 0), m.number(1, 120))
            for p in range(1, 201)
            for n in range(1, m.key(4) + 1)
        ),
    )
    m.fill("t_gr", 180, lambda i: (m.key(200), m.day(), m.key(40), m.pick(0, 0, 0, 2, 7)))
    m.insert("t_whs", [(1, "HH1", "Hamburg central warehouse", "Hamburg"), (2, "UT1", "Utrecht depot", "Utrecht")])
    m.fill(
        "t_whs_loc",
        200,
        lambda i: (
            m.key(2),
            m.pick("A", "B", "C", "D"),
            m.key(20),
            m.key(5),
            m.pick("PICK", "BULK", "QUAR"),
            m.pick(100, 500, 1000),
        ),
    )
    m.insert(
        "t_stk",
        (
            (loc, art, m.pick(0, 3, 20, 150), m.pick(0, 0, 2), m.day(), m.some(0.2, m.day("2026-06-01", 500)))
            for loc in range(1, 201)
            for art in m.draw.sample(range(1, 151), 2)
        ),
    )
    m.fill(
        "t_stk_mov",
        1500,
        lambda i: (
            m.key(150),
            m.key(200),
            m.pick("GR", "GI", "TRF", "ADJ", "SCR"),
            m.pick(-20, -5, -1, 1, 10, 50),
            m.time(),
            m.key(40),
            f"R{i}",
        ),
    )
    m.fill("t_carr", 5, lambda i: (("DHL", "DPD", "GLS", "UPS", "Dachser")[i - 1], m.pick("STD", "EXP")))

    def ship(i: int) -> Row:
        day = m.day()
        return (
            m.key(900),
            m.key(5),
            m.key(2),
            day,
            later(day, 3),
            m.some(0.9, later(day, m.key(7))),
            f"TRK{i:08}",
            m.number(0.2, 60),
        )

    m.fill("t_shp", 700, ship)
    m.insert("t_shp_pos", ((s, m.key(900), p, m.key(4)) for s in range(1, 701) for p in range(1, m.key(3) + 1)))
    m.insert(
        "t_rma_rsn",
        [
            ("DMG", "arrived broken"),
            ("WRG", "wrong item sent"),
            ("SIZ", "does not fit"),
            ("DOA", "faulty on first use"),
            ("NLK", "no longer wanted"),
            ("LAT", "came too late"),
        ],
    )
    m.fill(
        "t_rma_hdr",
        220,
        lambda i: (
            f"RM{i:05}",
            m.key(900),
            m.day(),
            m.some(0.8, m.day()),
            m.pick("OPN", "RCV", "RFD", "REJ"),
            m.number(5, 300),
            m.some(0.6, m.day()),
        ),
    )
    m.insert(
        "t_rma_pos",
        (
            (
                r,
                p,
                m.key(150),
                m.key(3),
                m.pick("DMG", "WRG", "SIZ", "DOA", "NLK", "LAT"),
                m.pick("A", "B", "C"),
                m.often(0.6),
            )
            for r in range(1, 221)
            for p in range(1, m.key(2) + 1)
        ),
    )
    m.fill("t_pay", 850, lambda i: (i, m.pick("PP", "CC", "INV", "SEPA"), m.number(10, 1000), m.day(), m.often(0.03)))
    m.fill("t_inv", 800, lambda i: (f"I{i:06}", i, m.day(), m.day(), m.number(10, 1000), m.pick(0, 0, 0, 1, 2, 3)))
    m.fill(
        "t_emp",
        40,
        lambda i: (
            f"{m.pick(*FIRST)} {m.pick(*LAST)}",
            m.pick("WHS", "CS", "PUR", "MKT"),
            m.key(2),
            m.day("2010-01-01", 5500),
        ),
    )
    m.fill(
        "t_art_rvw",
        400,
        lambda i: (
            m.key(150),
            m.key(300),
            m.day(),
            m.key(5),
            m.pick("Works well", "Broke after a week", "As described", "Too heavy"),
        ),
    )
    m.fill("t_cst_ctr", 6, lambda i: (f"47{i}0", m.pick("Logistics", "Marketing", "Service")))
    m.insert("tmp_ord_load_bak", ((f"O{i}", "20240101", "x") for i in range(30)))


def make_utility(m: Maker) -> None:
    """Make a municipal utility for power, gas, water, heat and waste."""
    m.fill(
        "District",
        6,
        lambda i: (
            ("Altstadt", "Hafen", "Nordstadt", "Westend", "Eichberg", "Seefeld")[i - 1],
            m.draw.randint(4000, 30000),
        ),
    )
    m.fill(
        "Street",
        40,
        lambda i: (
            f"{m.pick('Linden', 'Schul', 'Kirch', 'Berg', 'Wald', 'Ring')}{m.pick('weg', 'gasse', 'allee')} {i}",
            m.key(6),
        ),
    )
    m.fill(
        "Premise",
        350,
        lambda i: (
            m.key(40),
            str(m.key(120)),
            m.pick("R", "R", "R", "C", "P"),
            m.number(40, 2000, 0),
            m.draw.randint(1890, 2024),
            m.often(0.15),
        ),
    )
    m.fill(
        "Customer",
        320,
        lambda i: (
            f"K{50000 + i}",
            m.pick(*FIRST),
            m.pick(*LAST),
            m.some(0.15, f"{m.pick(*LAST)} Bakery Ltd"),
            f"k{i}@example.org",
            f"0441 {m.draw.randint(100000, 999999)}",
            m.day("1995-01-01", 11000),
            m.pick("email", "letter", "phone", "portal"),
        ),
    )
    products = [
        ("ST", "City Power", "E"),
        ("GA", "City Gas", "G"),
        ("WA", "Drinking Water", "W"),
        ("FW", "District Heat", "D"),
    ]
    m.insert("Product", products)
    m.fill(
        "Tariff",
        12,
        lambda i: (
            products[i % 4][0],
            f"{m.pick('Basic', 'Comfort', 'Green', 'Flex', 'Business')} {i}",
            m.day("2023-01-01", 700),
            m.some(0.5, "2026-12-31"),
            m.number(5, 20),
            m.number(2, 40),
            m.often(0.3),
        ),
    )
    m.fill(
        "Contract",
        600,
        lambda i: (
            m.key(320),
            m.key(350),
            m.key(12),
            m.day("2010-01-01", 5700),
            m.some(0.3, m.day()),
            m.some(0.3, m.pick("moved", "price", "competitor", "death")),
            m.pick("Y", "M", "Q"),
            m.number(20, 300),
        ),
    )
    m.fill(
        "MeterModel",
        6,
        lambda i: (m.pick("Itron", "Kamstrup", "Landis+Gyr", "Diehl"), f"MX{i}", i % 2, m.pick(6, 8, 16)),
    )
    serials = [f"Z{i:06}" for i in range(1, 501)]
    m.insert(
        "Meter",
        (
            (
                s,
                m.key(6),
                m.key(350),
                m.pick("E", "G", "W", "D"),
                m.day("2008-01-01", 6000),
                m.some(0.1, m.day()),
                m.day("2024-01-01", 2500),
            )
            for s in serials
        ),
    )
    m.fill(
        "MeterReading",
        3000,
        lambda i: (m.pick(*serials), m.day(), m.number(100, 90000, 1), m.pick("A", "C", "E", "S"), m.often(0.95)),
    )
    bills = [f"R{i:06}" for i in range(1, 1001)]

    def bill(number: str) -> Row:
        first = m.day("2024-10-01", 600)
        net = m.number(30, 1500)
        return (
            number,
            m.key(600),
            first,
            later(first, 30),
            later(first, 40),
            later(first, 54),
            net,
            round(net * 0.19, 2),
            m.number(100, 9000, 0),
            m.pick("P", "P", "P", "O", "C", "D"),
        )

    m.insert("Bill", (bill(number) for number in bills))
    m.fill(
        "BillItem",
        3000,
        lambda i: (
            m.pick(*bills),
            m.pick("BASE", "USAGE", "TAX", "CREDIT", "METERING"),
            m.number(1, 3000),
            m.number(-50, 700),
        ),
    )
    m.fill(
        "Payment", 900, lambda i: (bills[i], m.day(), m.number(30, 1500), m.pick("debit", "transfer", "cash", "card"))
    )
    m.fill(
        "InstalmentPlan",
        60,
        lambda i: (m.key(320), m.day(), m.number(200, 4000), m.pick(6, 12, 24), m.pick("running", "done", "broken")),
    )
    m.fill("Reminder", 200, lambda i: (m.pick(*bills), m.day(), m.key(3), m.pick(0, 2.5, 5)))
    m.fill(
        "Disconnection", 40, lambda i: (m.key(600), m.day(), m.some(0.6, m.day()), m.pick("unpaid", "safety", "vacant"))
    )
    m.fill(
        "Outage",
        120,
        lambda i: (
            m.pick("E", "G", "W", "D"),
            m.key(6),
            t := m.time(),
            m.hours_after(t, 30),
            m.pick("excavator damage", "storm", "material fatigue", "maintenance", "unknown"),
            m.often(0.3),
            m.draw.randint(3, 900),
        ),
    )
    m.fill(
        "Crew",
        6,
        lambda i: (f"Crew {i}", m.pick("power", "pipes", "heat", "waste"), m.pick("Depot North", "Depot Harbour")),
    )
    m.fill("Technician", 30, lambda i: (f"{m.pick(*FIRST)} {m.pick(*LAST)}", m.key(6), m.day("2025-06-01", 1000)))
    tags = [f"AS-{i:04}" for i in range(1, 201)]
    m.fill(
        "WorkOrder",
        500,
        lambda i: (
            m.some(0.6, m.key(350)),
            m.some(0.6, m.pick(*tags)),
            m.key(6),
            m.pick("repair", "meter swap", "inspection", "new connection"),
            m.key(3),
            m.day(),
            m.some(0.8, m.day()),
            m.number(0.5, 30, 1),
            m.number(0, 4000),
            m.some(0.15, m.key(120)),
        ),
    )
    m.insert(
        "Asset",
        (
            (
                t,
                m.pick("pipe", "pipe", "pump station", "transformer", "hydrant", "valve"),
                m.key(40),
                m.pick("cast iron", "PE", "steel", "PVC"),
                m.day("1955-01-01", 25000),
                m.pick(100, 150, 300, 500),
                m.number(5, 800, 0),
                m.key(5),
            )
            for t in tags
        ),
    )
    m.fill(
        "Inspection",
        300,
        lambda i: (
            m.pick(*tags),
            m.day(),
            m.key(30),
            m.pick("corrosion", "leak", "no finding", "root intrusion"),
            m.key(5),
        ),
    )
    m.fill("SamplePoint", 14, lambda i: (f"Point {i}", m.key(6), m.pick("waterworks", "reservoir", "tap")))
    m.fill("WaterSample", 200, lambda i: (m.key(14), m.day(), m.pick("LabNord", "Hygiene Institute")))
    limits = [("nitrate", "mg/l", 50), ("lead", "µg/l", 10), ("E. coli", "CFU/100ml", 0), ("chlorine", "mg/l", 0.3)]
    m.insert(
        "SampleValue",
        ((s, p, m.number(0, limit * 1.2 + 0.3, 2), unit, limit) for s in range(1, 201) for p, unit, limit in limits),
    )
    m.fill(
        "Ticket",
        400,
        lambda i: (
            m.key(320),
            m.pick("phone", "mail", "portal", "counter"),
            m.pick("billing", "moving", "outage", "meter", "waste"),
            t := m.time(),
            m.hours_after(t, 60),
            m.some(0.9, m.hours_after(t, 200)),
            m.some(0.5, m.key(5)),
        ),
    )
    m.fill(
        "WasteRoute",
        18,
        lambda i: (
            f"Tour {i}",
            m.key(6),
            m.pick("residual", "paper", "organic", "glass"),
            m.pick("Mon", "Tue", "Wed", "Thu", "Fri"),
        ),
    )
    m.fill(
        "WasteTour", 700, lambda i: (m.key(18), m.day(), f"OL-SW {m.key(9)}", m.number(1, 12), m.pick(0, 0, 0, 1, 4))
    )
    m.fill(
        "Container",
        700,
        lambda i: (
            m.key(350),
            m.pick("residual", "paper", "organic", "glass"),
            m.pick(60, 120, 240, 1100),
            m.day("2010-01-01", 5500),
        ),
    )


COMPANIES = {"hospital": make_hospital, "shop": make_shop, "utility": make_utility}


def write_company(company: str, file: Path) -> None:
    """Write the database of a company to a new SQLite file."""
    maker = Maker(company, file)
    COMPANIES[company](maker)
    maker.connection.commit()
    maker.connection.close()
