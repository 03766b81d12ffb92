import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { usagesForms } from "../../../src/code/symbols-text.ts";
import {
	type TypeCheckerOptions,
	withTypeChecker,
} from "../../../src/code/type-checker/checked-index.ts";
import { type CodeIndex, openCodeIndex } from "../../../src/codeindex/index.ts";
import { isAlive } from "../../../src/core/is-alive.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { type Script, scriptedServer } from "./scripted-server.ts";

const FILES = {
	"tsconfig.json":
		'{ "compilerOptions": { "strict": true, "noEmit": true, "module": "nodenext", "allowImportingTsExtensions": true, "types": [] } }',
	"cart.ts":
		"export interface Cart { total: number }\nexport function each(run: (cart: Cart) => void): void { run({ total: 1 }); }\nexport const empty: Cart = { total: 0 };\n",
	"main.ts": [
		'import { each } from "./cart.ts";',
		"export function show(): void {",
		"	each((cart) => { cart.total; });",
		"}",
	].join("\n"),
	"any.ts": "export const loose = (value: any) => value.total;\n",
	"main.test.ts": 'import { each } from "./cart.ts";\neach((cart) => cart.total);\n',
};

function project(): { root: string; index: CodeIndex } {
	const root = tempDir("checked");
	for (const [path, text] of Object.entries(FILES)) {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
	}
	const index = openCodeIndex({ root, folder: tempDir("cache"), inThisThread: true });
	atEnd(() => index.close());
	return { root, index };
}

async function ask(
	options: Omit<TypeCheckerOptions, "command"> & { readonly command: string },
	symbol = "Cart.total",
	includeTests = true,
) {
	const { index } = project();
	await index.build();
	const checked = withTypeChecker(index, options);
	const answer = await checked.usages({ symbol, includeTests });
	const [definition] = answer.definitions;
	const places = definition?.usages.map(({ path, line, column, within }) => {
		return `${path}:${line}:${column}${within ? ` in ${within}` : ""}`;
	});
	return { answer, checked, definition, places };
}

const scripted = (script: Script, timeoutMs = 60_000) => ({ ...scriptedServer(script), timeoutMs });
const FOUND = ["cart.ts:2:63", "main.ts:3:24", "main.test.ts:2:21", "/elsewhere/lib.ts:1:1"];

describe("usages of a member", { tags: "slow" }, () => {
	test("are those of the index and of the type checker, which the answer names", async () => {
		const server = scripted({ kind: "answers", places: FOUND });
		const { answer, definition, places } = await ask(server);
		expect(places).toEqual([
			"cart.ts:2:63 in each",
			"cart.ts:3:30 in empty",
			"main.test.ts:2:21",
			"main.ts:3:24 in show",
		]);
		expect(answer.checker).toEqual({});
		// Accesses in files that the checker knows are decided.
		expect(definition?.possible).toEqual({ count: 1, files: ["any.ts"], counts: [1] });
		const [full] = usagesForms(answer, { symbol: "Cart.total", includeTests: true }, {
			show: (path: string) => path,
			advice: {},
		} as never);
		expect(full?.()[0]?.head).toContain("members: by the type checker (tsc --lsp) and the index");
	});

	test("in tests are left out if they are not wanted", async () => {
		const server = scripted({ kind: "answers", places: FOUND });
		const { places } = await ask(server, "Cart.total", false);
		expect(places).toEqual([
			"cart.ts:2:63 in each",
			"cart.ts:3:30 in empty",
			"main.ts:3:24 in show",
		]);
	});

	test("are asked for at the place of the definition, without variables that may be secret", async () => {
		vi.stubEnv("STRATA_TEST_SECRET", "hidden");
		const server = scripted({ kind: "answers", places: [] });
		await ask(server);
		const [start, ...messages] = readFileSync(server.log, "utf8")
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(start.secret).toBeUndefined();
		const asked = messages.find(({ method }) => method === "textDocument/references");
		expect(asked.params.position).toEqual({ line: 0, character: 24 });
		expect(asked.params.context).toEqual({ includeDeclaration: false });
		expect(messages.find(({ id }) => id === 77).result).toEqual([null, null]);
		await vi.waitFor(() => expect(isAlive(start.pid)).toBe(false), PATIENCE);
	});

	test.each([
		["hangs", "it did not answer in 1 s"],
		["dies", "it ended with status 3"],
		["babbles", "it sent no header of a message"],
		["boasts", "it sent a message of more than 20971520 bytes"],
		["refuses", "it reported: no such file"],
	] as const)(
		"are the index's own if the type checker %s, and its process is gone",
		async (kind, problem) => {
			const server = scripted({ kind }, kind === "hangs" ? 1000 : 60_000);
			const { answer, checked, places } = await ask(server);
			expect(answer.checker).toEqual({ problem });
			expect(places).toEqual(["cart.ts:3:30 in empty"]);
			const started = () => readFileSync(server.log, "utf8").match(/"pid":\d+/g) ?? [];
			const [first = ""] = started();
			await vi.waitFor(() => expect(isAlive(Number(first.slice(6)))).toBe(false), PATIENCE);
			const again = await checked.usages({ symbol: "Cart.total" });
			expect(again.checker?.problem).toBe("it failed in the last ten minutes");
			expect(started()).toHaveLength(1);
		},
	);

	test("are not asked for again if the caller gives up", async () => {
		const server = scripted({ kind: "hangs" });
		const { index } = project();
		await index.build();
		const controller = new AbortController();
		const asked = withTypeChecker(index, server).usages(
			{ symbol: "Cart.total" },
			{ signal: controller.signal },
		);
		asked.catch(() => {});
		await vi.waitFor(
			() => expect(readFileSync(server.log, "utf8")).toContain("references"),
			PATIENCE,
		);
		controller.abort();
		await expect(asked).rejects.toThrow();
	});

	test("are the index's own if the program cannot start, is no absolute path, or is the project's", async () => {
		const missing = await ask({ command: "/nowhere/tsc" });
		expect(missing.answer.checker?.problem).toContain("it did not start: ");
		const relative = await ask({ command: "tsc" });
		expect(relative.answer.checker?.problem).toBe("kota.typeChecker is no absolute path: tsc");
		const { root, index } = project();
		await index.build();
		const own = join(root, "tsc");
		writeFileSync(own, "");
		const link = join(tempDir("link"), "tsc");
		symlinkSync(own, link);
		for (const command of [own, link]) {
			const answer = await withTypeChecker(index, { command }).usages({ symbol: "Cart.total" });
			expect(answer.checker?.problem).toContain("inside of the project");
		}
	});

	test("only of members: names of the top level and other questions need no type checker", async () => {
		const { answer, checked } = await ask({ command: "/nowhere/tsc" }, "each");
		expect(answer.checker).toBeUndefined();
		expect((await checked.outline({ file: "cart.ts" })).outlines).toHaveLength(1);
		expect((await checked.status()).state).toBe("ready");
	});

	test("are found by the real TypeScript 7", async () => {
		const command = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));
		const { answer, places } = await ask({ command, timeoutMs: 60_000 });
		expect(answer.checker).toEqual({});
		expect(places).toEqual([
			"cart.ts:2:63 in each",
			"cart.ts:3:30 in empty",
			"main.test.ts:2:21",
			"main.ts:3:24 in show",
		]);
	});
});
