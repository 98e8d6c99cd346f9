"""The made schemas of the measurement of cost: as large as asked, of distinct tables whose keys lead somewhere."""

import pytest

from evals import large_schemas


@pytest.mark.parametrize("columns", [1, 500, 1500])
def test_a_made_schema_has_the_columns_asked_for_and_whole_keys(columns: int) -> None:
    database = large_schemas.build_database(columns)
    assert columns <= len(set(database.columns)) < columns + large_schemas.COLUMNS_OF_TABLE
    ends = {(key.referenced_table, key.referenced_column) for key in database.foreign_keys}
    assert ends <= set(database.columns)


async def test_linking_is_measured_beside_the_embedding_of_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_schemas, "ROUNDS", 1)
    assert "14 columns: " in (shown := await large_schemas.measure_linking(14))
    assert "times the embedding" in shown
