"""What can be known of infra/ without the Bicep compiler and Azure; docs/reference/azure-deployment.md has the rest."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pycep import BicepParser

from functions import triggers
from rag_core.composition import assembly
from rag_core.core import hosted_models, settings
from rag_core.core.hosted_models import DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from rag_core.jobs import azure_storage
from rag_core.jobs.azure_jobs import AzureJobs
from rag_core.stores.azure_answer_log import ANSWER_LOG_CONTAINER_NAME, AzureAnswerLog

ROOT = Path(__file__).parents[1]
INFRA = ROOT / "infra"
PAGE = (ROOT / "docs" / "reference" / "azure-deployment.md").read_text("utf-8")
GUIDE = (ROOT / "docs" / "guide" / "deploy.md").read_text("utf-8")
TEXTS = {path.name: path.read_text("utf-8") for path in sorted(INFRA.glob("*.bicep"))}
FILES: dict[str, Any] = {name: BicepParser().parse(text=text) for name, text in TEXTS.items()}
MAIN = FILES["main.bicep"]
# or of Azure's SDKs
OF_THE_HOST = re.compile(
    r"MALLOC_\w+|AzureWebJobsStorage__\w+|APPLICATIONINSIGHTS_\w+|AZURE_CLIENT_ID|PYTHON_ENABLE_\w+"
)

ROLES = {  # learn.microsoft.com/azure/role-based-access-control/built-in-roles
    "storageBlobDataOwner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "storageQueueDataContributor": "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    "storageTableDataContributor": "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
    "monitoringMetricsPublisher": "3913510d-42f4-4e42-8a64-420c390055eb",
    "searchIndexDataContributor": "8ebe5a00-799e-43f5-93ac-243d3dce84a7",
    "searchServiceContributor": "7ca78c08-252a-4471-8644-bb5ff32d4ba0",
    "cognitiveServicesOpenAIUser": "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd",
    "cognitiveServicesUser": "a97b65f3-24c7-4388-baec-2e87135dc908",
}
ADDRESSES = ("POSTGRES_URL", "ARCHIVE_URL")
WITHOUT_LOCAL_AUTH: dict[str, dict[str, Any]] = {
    "Microsoft.Storage/storageAccounts": {"allowSharedKeyAccess": False, "allowBlobPublicAccess": False},
    "Microsoft.OperationalInsights/workspaces": {"features": {"disableLocalAuth": True}},
    "Microsoft.Insights/components": {"DisableLocalAuth": True},
    "Microsoft.Search/searchServices": {"disableLocalAuth": True},
    "Microsoft.CognitiveServices/accounts": {"disableLocalAuth": True},
    "Microsoft.Cache/redisEnterprise/databases": {
        "accessKeysAuthentication": "Disabled",
        "clientProtocol": "Encrypted",
    },
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"allow": False},
}


def body(part: Any) -> dict[str, Any]:
    """What a resource or a module says, whether or not it stands in a loop or under a condition."""
    inner: dict[str, Any] = part["config"]
    while isinstance(inner.get("config"), dict):
        inner = inner["config"]
    return inner


def resources() -> list[Any]:
    return [each for file in FILES.values() for each in file.get("resources", {}).values()]


def settings_read() -> set[str]:
    return set(re.findall(r'"([A-Z]+_[A-Z_]+)"', (ROOT / "rag_core" / "core" / "settings.py").read_text("utf-8")))


def under(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from under(inner)


def app_settings() -> set[str]:
    given = [body(MAIN["modules"]["app"])["params"]["settings"], FILES["app.bicep"]["resources"]["appSettings"]]
    names = {name for each in under(given) if isinstance(each, dict) for name in each}
    return {name for name in names if re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+|AzureWebJobs\w+", name)}


def code(text: str) -> str:
    """The text without comments and strings, but with what is put into strings."""
    bare = re.sub(r"(?m)(?<!:)//.*$", "", text)
    return re.sub(r"'((?:\$\{[^}]*\}|[^'\n])*)'", lambda said: f" {' '.join(re.findall(r'{([^}]*)}', said[1]))} ", bare)


def declared(text: str) -> list[str]:
    looped = [name for pair in re.findall(r"for \(?(\w+)(?:, (\w+)\))? in", text) for name in pair if name]
    return re.findall(r"(?m)^\s*(?:param|var|resource|module) (\w+)", text) + looped


def used(text: str) -> set[str]:
    """Names that stand for a value: no member of another, no key, no function, no word of the language."""
    spoken = re.sub(r"(?m)^\s*(?:param \w+ \w+|var \w+|output \w+ \w+|resource \w+|module \w+|targetScope)", "", text)
    spoken = re.sub(r"\bfor (.*):", r"\1 ", spoken)
    words = re.findall(r"(?<![\w.:@])([A-Za-z_]\w*)(?![\w(]|:(?!:))", spoken)
    return set(words) - {"true", "false", "null", "if", "in", "existing"}


def table(heading: str) -> list[list[str]]:
    lines = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@pytest.mark.parametrize("text", ["param a string = ", "resource a 'b@c' = {", "var a = [1", "output a string 'x'"])
def test_the_parser_refuses_what_is_not_bicep(text: str) -> None:
    with pytest.raises(Exception, match=r"^Unexpected"):
        BicepParser().parse(text=text)


def test_the_parser_overlooks_no_resource() -> None:
    assert len(resources()) == len(re.findall(r"(?m)^\s*resource ", "\n".join(TEXTS.values())))


def list_undeclared(text: str) -> set[str]:
    return used(code(text)) - set(declared(code(text)))


@pytest.mark.parametrize("name", TEXTS)
def test_every_name_is_declared_and_none_in_vain(name: str) -> None:
    text = code(TEXTS[name])
    assert list_undeclared(TEXTS[name]) == set()
    made = set(re.findall(r"(?m)^\s*(?:resource|module) (\w+)", text))  # for their own sake
    assert set(declared(text)) - used(text) - made == set()


@pytest.mark.parametrize("name", MAIN["modules"])
def test_a_module_is_given_what_it_wants_and_nothing_else(name: str) -> None:
    assert list_parameter_faults(MAIN["modules"][name]) == set()


def list_parameter_faults(module: Any) -> set[str]:
    """Name the parameters that a module is given and does not know, or wants and is not given."""
    wanted = FILES[module["detail"]["path"]]["parameters"]
    given = set(body(module)["params"])
    return (given - set(wanted)) | ({each for each, said in wanted.items() if said["default"] is None} - given)


def test_every_file_is_a_module_of_main() -> None:
    assert {module["detail"]["path"] for module in MAIN["modules"].values()} == set(TEXTS) - {"main.bicep"}


def test_only_outputs_that_are_there_are_taken() -> None:
    assert list_outputs_taken(TEXTS["main.bicep"]) == {
        (name, output)
        for name, module in MAIN["modules"].items()
        for output in FILES[module["detail"]["path"]].get("outputs", {})
    }


def list_outputs_taken(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"\b(\w+)!?\.outputs\.(\w+)", text))


def test_what_a_compiler_would_say_of_names_is_found() -> None:
    """Errors as they are made: a parameter that is not declared, an output that is not there, one that is not given."""
    text = TEXTS["main.bicep"]
    assert list_undeclared(text.replace("location: location", "location: region", 1)) == {"region"}
    wrong = text.replace("storage.outputs.packages", "storage.outputs.package")
    assert list_outputs_taken(wrong) - list_outputs_taken(text) == {("storage", "package")}
    for old, new, fault in (
        ("    packages: ", "    package: ", {"package", "packages"}),
        ("    appId: ", "    // ", {"appId"}),
    ):
        planted = BicepParser().parse(text=text.replace(old, new))["modules"]
        assert fault <= set.union(*(list_parameter_faults(each) for each in planted.values()))


def test_the_app_is_given_settings_that_are_read_and_no_key() -> None:
    given = {name for name in app_settings() if not OF_THE_HOST.fullmatch(name)}
    assert given - settings_read() == set()
    assert [name for name in given if name.endswith("_KEY")] == ["RAG_CACHE_SIGNING_KEY"]  # which opens nothing


def test_every_address_that_the_app_can_be_given_is_given() -> None:
    azure = {name for name in settings_read() if name.startswith("AZURE_") and not name.endswith(("_KEY", "_VERSION"))}
    # rag setup's, for the index, and a number that only a measurement can tell
    of_setup = ("COMPRESSION", "TRUNCATED_DIMENSIONS", "VECTORIZER", "VECTORS_STORED", "VECTOR_WEIGHT")
    setup = {f"AZURE_SEARCH_{name}" for name in of_setup}
    previews = {
        f"AZURE_SEARCH_{name}"
        for name in ("PREVIEW", "QUERY_REWRITES", "QUERY_LANGUAGE", "MAX_TEXT_RECALL_SIZE", "DOCUMENT_ACL")
    }
    wanted = azure - setup - previews
    assert wanted | {"REDIS_URL", *ADDRESSES} <= app_settings()


def test_defaults_are_those_of_the_code() -> None:
    said = {name: parameter["default"] for name, parameter in MAIN["parameters"].items()}
    assert said["chatModel"] == said["embeddingModel"] == "", "hosted_models.json decides"
    assert DEFAULT_CHAT_MODEL.name == settings.DEFAULT_SETTINGS.chat_deployment
    assert DEFAULT_EMBEDDING_MODEL.name == settings.DEFAULT_SETTINGS.embedding_deployment
    assert said["searchIndex"] == settings.DEFAULT_SETTINGS.azure_search_index


def test_the_models_that_are_deployed_are_those_of_the_file_that_the_code_reads() -> None:
    read = re.findall(r"loadJsonContent\('([^']+)'\)", TEXTS["main.bicep"])
    assert [(INFRA / path).resolve() for path in read] == [Path(hosted_models.__file__).with_suffix(".json")]
    named = set(re.findall(r"hostedModels\.([\w.]+)", TEXTS["main.bicep"]))
    assert named == {"defaults.chat", "defaults.embeddings", "models"}
    assert {"chat", "embeddings"} == hosted_models.FACTS["defaults"].keys()
    deployed = body(FILES["models.bicep"]["resources"]["deployment"])
    for model in (DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL):
        facts = {"name": model.name} | hosted_models.FACTS["models"][model.name]
        assert {"name", "sku", "version"} <= facts.keys()
    assert set(re.findall(r"\bmodel\.(\w+)", TEXTS["models.bicep"])) == {"name", "sku", "version"}
    assert deployed["properties"]["model"]["format"] == "OpenAI"


def test_outputs_that_a_program_reads_bear_the_names_of_settings() -> None:
    for_people = {"AZURE_RESOURCE_GROUP", "AZURE_FUNCTION_NAME", "AZURE_IDENTITY_NAME", "POSTGRES_ADDRESS"}
    assert set(MAIN["outputs"]) - settings_read() == for_people


def test_every_role_is_one_of_microsofts_and_is_on_the_page() -> None:
    ids = dict(re.findall(r"var (\w+) = '([0-9a-f-]{36})'", "\n".join(TEXTS.values())))
    assert ids == ROLES
    names = {name.replace(" ", "").lower() for name in re.findall(r"\*([A-Z]\w+(?: \w+)+)\*", PAGE)}
    assert {name.lower() for name in ids} == names


def test_a_role_reaches_no_further_than_one_service() -> None:
    grants = [each for each in resources() if each["type"] == "Microsoft.Authorization/roleAssignments"]
    assert grants
    for grant in grants:
        assert re.search(r"\b(account|insights|search|queues|table)\b", str(body(grant)["scope"]))


@pytest.mark.parametrize("kind", WITHOUT_LOCAL_AUTH)
def test_what_can_be_opened_with_a_key_is_opened_with_a_token_only(kind: str) -> None:
    found = [body(each)["properties"] for each in resources() if each["type"] == kind]
    assert found
    for properties in found:
        assert properties.items() >= WITHOUT_LOCAL_AUTH[kind].items()


PRIVATE_TYPES = {  # by the parts of it that the app reaches
    "Microsoft.Storage/storageAccounts": ["blob", "queue", "table"],
    "Microsoft.CognitiveServices/accounts": ["account", "account"],
    "Microsoft.Search/searchServices": ["searchService"],
    "Microsoft.DBforPostgreSQL/flexibleServers": ["postgresqlServer"],
    "Microsoft.Cache/redisEnterprise": ["redisEnterprise"],
}


def test_in_a_private_network_each_service_is_closed_and_has_an_endpoint() -> None:
    """What stays open is the app itself, and where it sends its telemetry."""
    for kind in PRIVATE_TYPES:
        for each in (body(one)["properties"] for one in resources() if one["type"] == kind):
            said = str(each.get("publicNetworkAccess") or each["network"]["publicNetworkAccess"])
            assert "isPrivate" in said
            assert "disabled" in said.lower()
    told = [each for each in under(MAIN["variables"]) if isinstance(each, dict) and "zone" in each]
    reached: dict[str, list[str]] = {}
    for each in told:
        reached.setdefault(each["type"], []).append(each["part"])
    assert {kind: sorted(parts) for kind, parts in reached.items()} == PRIVATE_TYPES
    names = set(re.findall(r"of: (\w+)", TEXTS["main.bicep"]))
    assert names == set(re.findall(r"\n    name: (\w+Name)\n", TEXTS["main.bicep"])), "each service by its own name"
    assert len({each["name"] for each in told}) == len({each["zone"] for each in told}) == len(told)


def test_the_app_alone_is_let_into_its_subnet() -> None:
    """Flex Consumption wants a subnet that is delegated to it, and endpoints may not share it."""
    network = body(FILES["network.bicep"]["resources"]["network"])["properties"]
    app, endpoints = network["subnets"]
    assert app["properties"]["delegations"][0]["properties"] == {"serviceName": "Microsoft.App/environments"}
    assert "delegations" not in endpoints["properties"]
    assert FILES["network.bicep"]["outputs"].keys() == {"networkId", "appSubnetId", "endpointSubnetId"}


def test_postgres_has_no_password_and_lets_pgvector_be_created() -> None:
    """S2-32, S2-30: pgvector can be enabled only where it is allow-listed; `sslmode=require` is in the address."""
    file = FILES["postgres.bicep"]["resources"]
    assert body(file["server"])["properties"]["authConfig"]["passwordAuth"] == "Disabled"
    assert body(file["extensions"])["name"] == "azure.extensions"
    assert body(file["extensions"])["properties"]["value"] == "VECTOR"
    assert FILES["postgres.bicep"]["outputs"]["address"]["value"].endswith("?sslmode=require")


def test_one_store_is_made_and_the_app_is_told_of_that_one() -> None:
    """POSTGRES_URL has no effect where AZURE_SEARCH_ENDPOINT is set."""
    assert "module search 'search.bicep' = if (!withPostgres)" in TEXTS["main.bicep"]
    assert "module postgres 'postgres.bicep' = if (withPostgres)" in TEXTS["main.bicep"]
    assert re.search(r"withPostgres \? { POSTGRES_URL: .* } : {},", TEXTS["main.bicep"])
    same = {re.search(rf"withPostgres \? {{ {n}: (.*) }} : {{}},", TEXTS["main.bicep"])[1] for n in ADDRESSES}  # type: ignore[index]
    assert len(same) == 1, "the archive is where the store is"
    assert re.search(r"withPostgres \? {} : { AZURE_SEARCH_ENDPOINT: ", TEXTS["main.bicep"])


def test_the_queue_that_wakes_long_work_is_made_with_the_one_for_what_failed() -> None:
    assert FILES["storage.bicep"]["variables"]["queueNames"]["value"] == [
        triggers.JOB_QUEUE_TRIGGER_NAME,
        f"{triggers.JOB_QUEUE_TRIGGER_NAME}-poison",
    ]
    assert f"{triggers.STORAGE_CONNECTION}__accountName" in app_settings()


def test_long_work_is_where_every_instance_of_the_app_sees_it() -> None:
    """S1-57: what is promised with 202 is not on a disk that goes with its instance."""
    made = FILES["storage.bicep"]["resources"]
    names = [body(made[name])["name"] for name in ("table", "uploads", "answerLogs")]
    assert names == [azure_storage.JOB_TABLE_NAME, azure_storage.JOB_CONTAINER_NAME, ANSWER_LOG_CONTAINER_NAME]
    given = dict(re.findall(r"(RAG_\w+): '([^']*)'", TEXTS["main.bicep"]))
    environment = {
        **given,
        f"{triggers.STORAGE_CONNECTION}__accountName": "ragdata",
        "AZURE_SEARCH_ENDPOINT": "https://s",
    }
    kit = assembly.build_kit(settings.load_settings(environment))
    assert isinstance(kit.jobs, AzureJobs)
    assert isinstance(kit.answer_log, AzureAnswerLog)


def test_no_key_is_read_or_made() -> None:
    asked = r"list\w*Keys|listCredentials|AccountKey|InstrumentationKey|administratorLogin(Password)?|SharedAccess"
    assert not re.findall(asked, "".join(TEXTS.values()), re.IGNORECASE)


def test_everything_that_takes_tags_has_the_environments() -> None:
    tagged = [body(each) for each in resources() if "location" in body(each)]
    assert tagged
    assert all("tags" in str(each["tags"]) for each in tagged)


def test_the_page_has_every_parameter_with_its_default() -> None:
    lines = table("parameter | default | what it decides")
    rows = {name.strip("`"): default for name, default, _ in lines}
    meanings = {name.strip("`"): meaning for name, _, meaning in lines}
    assert set(rows) == set(MAIN["parameters"])
    for name, parameter in MAIN["parameters"].items():
        assert any(each["type"] == "description" for each in parameter["decorators"])
        default = parameter["default"]
        if model := {"chatModel": DEFAULT_CHAT_MODEL, "embeddingModel": DEFAULT_EMBEDDING_MODEL}.get(name):
            assert rows[name] == f"`{model.name}` {model.version}"
            assert str(model.retires["azure"]) in meanings[name]
        elif isinstance(default, str | int) and default != "":
            assert rows[name] == f"`{json.dumps(default).strip(chr(34))}`"


def test_the_parameters_file_gives_what_has_no_default_and_only_what_is_asked_for() -> None:
    given = json.loads((INFRA / "main.parameters.json").read_text("utf-8"))["parameters"]
    assert set(given) <= set(MAIN["parameters"])
    assert {name for name, said in MAIN["parameters"].items() if said["default"] is None} <= set(given)
    for name, said in given.items():
        variable = re.fullmatch(r"\$\{([A-Z_]+)(?:=[A-Za-z0-9]*)?\}", said["value"])
        assert variable
        assert f"`{variable[1]}`" in next(row for row in PAGE.splitlines() if row.startswith(f"| `{name}` |"))


COSTS = (
    "what stands there, used or not",
    "what is added by use, here 1,000 questions and 1,000 new pages",
    "where asked for",
)


def test_the_sums_of_the_page_are_right() -> None:
    total = 0.0
    for heading in COSTS:
        *rows, (_, _, _, said) = table(f"{heading} | quantity | price | a month")
        for what, quantity, price, month in rows:
            assert float(quantity.replace(",", "").split()[0]) * float(price) == pytest.approx(
                float(month), abs=0.005
            ), what
        total = sum(float(row[3]) for row in rows) + (0 if heading == COSTS[2] else total)
        assert total == pytest.approx(float(said.strip("*")), abs=0.005)


def test_the_page_prices_models_as_the_code_does() -> None:
    rows = {row[0]: row[2] for row in table(f"{COSTS[1]} | quantity | price | a month")}
    price = {what: float(said) for what, said in rows.items() if re.match("chat|embedding", what)}
    chat, embedding = DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
    assert tuple(price.values()) == (chat.input_usd, chat.output_usd, embedding.input_usd)


def test_the_three_sizes_of_the_guide_are_added_up() -> None:
    """A question is 10,000 tokens in and 1,000 out; Document Intelligence reads every page; 1,000 ranked are free."""
    rows = re.findall(r"\| \w+ \| ([\d,]+) \| ([\d,]+) \| (\w+), (\w+) \| ([\d,]+) \|", GUIDE)
    assert len(rows) == 3
    chat, embedding = DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
    for *amounts, plan, tier, said in rows:
        pages, questions = (int(amount.replace(",", "")) for amount in amounts)
        usd = 730 * {"basic": 0.101, "standard": 0.336}[tier] + 0.02
        usd += questions * (10_000 * chat.input_usd + 1_000 * chat.output_usd) / 1e6
        usd += pages * (0.010 + 1_000 * embedding.input_usd / 1e6)
        usd += max(0, questions - 1_000) * 0.001 if plan == "standard" else 0
        assert round(usd) == int(said.replace(",", ""))


def test_what_bounds_the_cost_is_added_up() -> None:
    million_tokens = MAIN["parameters"]["modelCapacity"]["default"] * 1_000 * 60 * 730 / 1e6
    most = [f"{million_tokens * usd:,.0f}" for usd in (DEFAULT_CHAT_MODEL.input_usd, DEFAULT_CHAT_MODEL.output_usd)]
    assert f"`modelCapacity` (at most {most[0]} in or {most[1]} out a month)" in PAGE


def test_azd_finds_the_app_and_its_template() -> None:
    said = yaml.safe_load((ROOT / "azure.yaml").read_text("utf-8"))
    assert re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", said["name"])
    assert (ROOT / said["infra"]["path"] / f"{said['infra']['module']}.bicep").exists()
    assert (said["infra"]["provider"], said["services"]["api"]["host"]) == ("bicep", "function")
    assert said["services"]["api"]["language"] == "python"
    assert (ROOT / said["services"]["api"]["project"] / "function_app.py").exists()
    (app,) = [each for each in resources() if each["type"] == "Microsoft.Web/sites"]
    assert f"azd-service-name'\": '{next(iter(said['services']))}'" in str(body(app)["tags"])
