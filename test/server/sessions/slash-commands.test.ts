import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { TERMINAL_COMMANDS } from "../../../src/server/sessions/prompt-handlers.ts";

test("the commands of pi's terminal are known by name", async () => {
	const found = findPackageJSON("@earendil-works/pi-coding-agent", import.meta.url);
	const module = join(dirname(found ?? ""), "dist", "core", "slash-commands.js");
	const { BUILTIN_SLASH_COMMANDS } = await import(pathToFileURL(module).href);
	const names = (BUILTIN_SLASH_COMMANDS as { name: string }[]).map(({ name }) => name);
	expect([...TERMINAL_COMMANDS.keys()].toSorted()).toEqual(names.toSorted());
});
