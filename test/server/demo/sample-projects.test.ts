import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { codeIndexFolder } from "../../../src/codeindex/index.ts";
import { createSampleProjects } from "../../../src/server/demo/sample-projects.ts";
import { tempDir } from "../../support/temp.ts";
import { carryOut } from "../support/carry-out.ts";

describe("sample projects", () => {
	test("go with their last session, their index too, and only those", {
		tags: "slow",
	}, async () => {
		const { projects, folder } = start();
		const [one, two] = [await projects.make(), await projects.make()];
		const indexesOf = (project: string) =>
			readdirSync(codeIndexFolder()).filter((name) => name.startsWith(basename(project)));
		expect(indexesOf(one)).toHaveLength(1);
		await projects.sweep({
			left: [join(one, "src")],
			inUse: [two, join(one, "src", "deep")],
		});
		expect(readdirSync(folder)).toHaveLength(2);
		await projects.sweep({ left: [join(one, "src")], inUse: [two] });
		expect(existsSync(one)).toBe(false);
		await projects.sweep({ left: [two], inUse: [] });
		expect(readdirSync(folder)).toEqual([]);
		expect([...indexesOf(one), ...indexesOf(two)]).toEqual([]);
	});

	test("that no session has are deleted at the start, and nothing else in their folder", async () => {
		const { projects, folder } = start();
		const others = ["mine", "shop-", "shop-mine-too"];
		for (const name of ["shop-kept01", "shop-orphan", ...others]) {
			mkdirSync(join(folder, name), { recursive: true });
		}
		await projects.sweep({ inUse: [join(folder, "shop-kept01", "src")] });
		expect(readdirSync(folder).sort()).toEqual(["shop-kept01", ...others].sort());
	});

	test("never lead out of their folder, by name or by link", async () => {
		const { projects, folder } = start();
		const outside = tempDir("outside");
		writeFileSync(join(outside, "file"), "");
		const project = join(folder, "shop-000001");
		mkdirSync(project, { recursive: true });
		symlinkSync(outside, join(project, "link"));
		symlinkSync(outside, join(folder, "shop-abcdef"));
		await projects.sweep({
			left: [outside, folder, join(folder, ".."), join(folder, "..", "shop-aaaaaa"), "/", "."],
			inUse: [],
		});
		expect(existsSync(project)).toBe(true);
		await projects.sweep({ inUse: [] });
		expect(existsSync(project)).toBe(false);
		expect(readdirSync(outside)).toEqual(["file"]);
		expect(readdirSync(folder)).toEqual(["shop-abcdef"]);

		// A folder of projects that is a link itself leads to somebody else's.
		mkdirSync(join(outside, "shop-bbbbbb"));
		const linked = join(tempDir(), "projects");
		symlinkSync(outside, linked);
		await createSampleProjects(linked, () => {}).sweep({ inUse: [] });
		expect(readdirSync(outside)).toContain("shop-bbbbbb");
	});

	test("that cannot be written are reported to who asks for one, and leave nothing behind", async () => {
		const { projects, folder, warnings } = start();
		mkdirSync(join(folder, ".."), { recursive: true });
		writeFileSync(folder, "");
		await expect(projects.make()).rejects.toMatchObject({
			code: "failed",
			message: /cannot write a sample project \(E[A-Z]+\): .*name a folder with cwd/,
		});
		expect(warnings).toHaveLength(1);
	});
});

test("a demo server deletes the project of a session with the last session in it, across restarts", {
	tags: "slow",
}, async () => {
	const agentDir = tempDir("agent");
	const folder = join(agentDir, "strata", "server", "demo", "projects");
	const words = ["--limit", "maxSessions=2"];
	const made = await carryOut(
		[
			{ type: "create_session", sessionId: "a" },
			{ type: "create_session", sessionId: "b" },
			{ type: "delete_session", sessionId: "b" },
		],
		{ agentDir, words },
	);
	expect(made.answers.map(({ success }) => success)).toEqual([true, true, true]);
	const [project] = readdirSync(folder);
	expect(readdirSync(folder)).toHaveLength(1);
	const cwd = join(folder, String(project));

	mkdirSync(join(folder, "shop-orphan"));
	mkdirSync(join(folder, "shop-0rphan"));
	const shared = await carryOut(
		[
			{ type: "create_session", sessionId: "c", cwd },
			{ type: "new_session", sessionId: "c" },
			{ type: "delete_session", sessionId: "a" },
		],
		{ agentDir, words },
	);
	expect(shared.answers.map(({ success }) => success)).toEqual([true, true, true]);
	expect(readdirSync(folder)).toEqual([project]);

	const commands = [{ type: "create_session" }, { type: "create_session" }];
	const { answers } = await carryOut(commands, { agentDir, words });
	expect(answers.map(({ code }) => code)).toEqual([undefined, "limit_reached"]);
	expect(readdirSync(folder)).toHaveLength(2);
});

test("a demo server whose data folder is a link works on its projects, and deletes none in use", {
	tags: "slow",
}, async () => {
	const agentDir = tempDir("agent");
	const data = tempDir("data");
	const link = join(tempDir(), "link");
	symlinkSync(data, link);
	const folder = join(data, "demo", "projects");
	const words = ["--data-dir", link];
	const made = await carryOut(
		[
			{ type: "create_session", sessionId: "a" },
			{ type: "prompt", sessionId: "a", message: "hello" },
		],
		{ agentDir, words },
	);
	expect(made.answers.map(({ error }) => error)).toEqual([undefined, undefined]);
	const [project = ""] = readdirSync(folder);
	const shared = await carryOut(
		[
			{ type: "create_session", sessionId: "b", cwd: join(link, "demo", "projects", project) },
			{ type: "delete_session", sessionId: "a" },
		],
		{ agentDir, words },
	);
	expect(shared.answers.map(({ success }) => success)).toEqual([true, true]);
	expect(readdirSync(folder)).toEqual([project]);
	const [state] = (await carryOut([{ type: "get_state", sessionId: "b" }], { agentDir, words }))
		.answers;
	expect(state).toMatchObject({ success: true });
	expect(readdirSync(folder)).toEqual([project]);
});

function start() {
	const folder = join(tempDir(), "projects");
	const warnings: string[] = [];
	return {
		folder,
		warnings,
		projects: createSampleProjects(folder, (line) => void warnings.push(line)),
	};
}
