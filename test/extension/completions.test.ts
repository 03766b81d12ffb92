import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { completePath } from "../../src/core/complete-path.ts";
import strata from "../../src/extension/index.ts";
import { startPi } from "../support/pi-session.ts";
import { tempDir } from "../support/temp.ts";

type Complete = (
	prefix: string,
) => Promise<{ value: string }[] | null> | { value: string }[] | null;

/** What pi's editor offers behind each of our commands. */
async function completions(): Promise<Map<string, Complete>> {
	const found = new Map<string, Complete>();
	await startPi({
		extensions: [
			{
				name: "strata",
				factory: (pi) =>
					strata({
						...pi,
						registerCommand(name, options) {
							if (options.getArgumentCompletions) found.set(name, options.getArgumentCompletions);
							pi.registerCommand(name, options);
						},
					}),
			},
		],
	});
	return found;
}

test("a complete word is sent with one Enter: nothing more is offered for it", async () => {
	const offered = await completions();
	const words = async (name: string, prefix: string) =>
		(await offered.get(name)?.(prefix))?.map(({ value }) => value) ?? null;
	expect(await words("kota", "sta")).toEqual(["status"]);
	expect(await words("kota", "status")).toBeNull();
	expect(await words("kota", "pin")).toBeNull();
	expect(await words("strata", "")).toEqual(["cost"]);
	expect(await words("strata", "cost")).toBeNull();
	expect(await words("workset", "a")).toEqual(["add"]);
	expect(await words("workset", "add package.j")).toEqual(["add package.json"]);
	expect(await words("workset", "add package.json")).toBeNull();
	expect(await words("readcache-refresh", "src/extension/pi-h")).toEqual([
		"src/extension/pi-host.ts",
	]);
});

test("paths are completed step by step, hidden ones only if asked for", () => {
	const folder = tempDir();
	mkdirSync(join(folder, "src", "deep"), { recursive: true });
	for (const name of ["src/a.ts", "src/with space.ts", ".hidden", "b.ts"])
		writeFileSync(join(folder, name), "");
	expect(completePath("", folder)).toEqual(["b.ts", "src/"]);
	expect(completePath("src/", folder)).toEqual(["src/a.ts", "src/deep/"]);
	expect(completePath("src/d", folder)).toEqual(["src/deep/"]);
	expect(completePath(".h", folder)).toEqual([".hidden"]);
	expect(completePath("none/x", folder)).toEqual([]);
});
