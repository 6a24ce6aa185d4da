"""The sample manifest is what Kubernetes would take, and the guide's settings exist."""

from __future__ import annotations

import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / "examples" / "kubernetes" / "unskew-job.yaml"
KUBERNETES = "1.31"


def documents():
    return list(yaml.safe_load_all(MANIFEST.read_text()))


@pytest.mark.parametrize("document", documents(), ids=lambda each: each["kind"])
def test_every_document_fits_the_schemas_of_kubernetes(document):
    kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_a_wrong_manifest_would_be_noticed():
    job = documents()[-1]
    job["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, KUBERNETES, strict=True)


def test_names_within_the_manifest_agree():
    account, role, binding, service, job = documents()
    pod = job["spec"]["template"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert pod["spec"]["serviceAccountName"] == account["metadata"]["name"]
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
    arguments = pod["spec"]["containers"][0]["args"]
    assert f"--conf=spark.driver.host={service['metadata']['name']}" in arguments
    ports = [str(port["port"]) for port in service["spec"]["ports"]]
    given = [re.search(r"\.port=(\d+)$", each) for each in arguments]
    assert [each[1] for each in given if each] == ports


def test_the_guide_points_to_files_that_exist():
    guide = (ROOT / "docs" / "deployment.md").read_text()
    for path in re.findall(r"\]\(\.\./(\S+?)\)", guide):
        assert (ROOT / path).exists()
