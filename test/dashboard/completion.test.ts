import { describe, expect, test } from "vitest";
import {
	completionOf,
	matchingCommands,
	partialName,
} from "../../src/dashboard/session/input-command.ts";
import type { Data } from "../../src/protocol/index.ts";

const command = (name: string): Data<"SlashCommand"> => ({ name, source: "extension" });
const names = (commands: readonly Data<"SlashCommand">[]) => commands.map(({ name }) => name);

describe("what is typed of a command", () => {
	test.each([
		["/", ""],
		["/ko", "ko"],
		["/skill:pdf", "skill:pdf"],
	])("%j is the beginning of a name", (text, name) => {
		expect(partialName(text)).toBe(name);
	});

	test.each([[""], ["say /ko"], ["/ko "], ["/ko status"], ["/ko\nmore"], [" /ko"], ["!ls"]])(
		"%j is none",
		(text) => {
			expect(partialName(text)).toBeUndefined();
		},
	);
});

describe("commands that fit", () => {
	const commands = ["unpin", "kota", "pin", "skill:pin-all", "spinner", "pint", "Pin-Board"].map(
		command,
	);

	test("are those of that name, then names that begin so, then parts of names, then the rest", () => {
		expect(names(matchingCommands(commands, "pin"))).toEqual([
			"pin",
			"Pin-Board",
			"pint",
			"skill:pin-all",
			"spinner",
			"unpin",
		]);
	});

	test("are found in either case", () => {
		expect(names(matchingCommands(commands, "PIN-B"))).toEqual(["Pin-Board"]);
	});

	test("are all of them, by name, after the slash alone", () => {
		expect(names(matchingCommands([command("b"), command("a")], ""))).toEqual(["a", "b"]);
	});

	test("are offered once where two have the same name", () => {
		const first: Data<"SlashCommand"> = { name: "plan", source: "extension", description: "first" };
		expect(matchingCommands([first, { ...first, source: "prompt" }], "pl")).toEqual([first]);
	});

	test("are no more than people can look through", () => {
		const many = Array.from({ length: 5_000 }, (_, at) => command(`command-${at}`));
		expect(matchingCommands(many, "com")).toHaveLength(100);
	});

	test("are ready for arguments once they are taken", () => {
		expect(completionOf(command("kota"))).toBe("/kota ");
	});
});
