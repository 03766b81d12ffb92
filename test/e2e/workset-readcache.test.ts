/** What the read cache answers when a file is, or was, in the working set: never "unchanged" for what is not in view. */
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import strata from "../../src/extension/index.ts";
import { type PiHarness, type PiOptions, startPi } from "../support/pi-session.ts";
import { atEnd } from "../support/temp.ts";

const extensions = [{ name: "strata", factory: strata }];
const lines = (name: string) => Array.from({ length: 200 }, (_, i) => `${name} ${i}`).join("\n");
const read = (id: string, path: string) => ({ tool: "read", args: { path }, id });

async function start(thinking: PiOptions["thinking"] = "bound"): Promise<PiHarness> {
	return await startPi({ thinking, extensions, tools: ["read", "edit"], persist: true });
}

test.each([
	["a folder whose name begins with @", "@types/x.ts"],
	["a folder named ~", "~/x.ts"],
])("a copy is of the file it names, also with %s", async (_what, path) => {
	const pi = await start();
	const absolute = pi.write(path, lines("one"));
	await pi.run("look", [read("r1", absolute), "ok"]);
	pi.write(path, lines("two"));
	await pi.command(`/workset add "./${path}"`);
	await pi.run("the copy shows another version", ["ok"]);
	expect(JSON.stringify(pi.lastContext())).toContain("two 7");
	await pi.command("/workset clear");
	pi.write(path, lines("one"));
	await pi.run("look", [read("r2", absolute), "ok"]);
	expect(pi.textOf("r2")).not.toMatch(/unchanged/);
});

test("a link that led elsewhere when its file was shown says nothing about where it leads now", async () => {
	const pi = await start("free");
	const other = lines("real").replace("real 7", "seven");
	pi.write("real.ts", lines("real"));
	pi.write("other.ts", other);
	const link = join(pi.cwd, "link.ts");
	symlinkSync("real.ts", link);
	await pi.run("look", [read("r0", "real.ts"), "ok"]);
	await pi.command("/workset add link.ts");
	await pi.run("look", [
		() => {
			rmSync(link);
			symlinkSync("other.ts", link);
			// From here on the context is gone through anew.
			const prompt = pi.sessionManager
				.getBranch()
				.find((entry) => entry.type === "message" && entry.message.role === "user");
			pi.editContext(prompt?.id ?? "", "look at it");
			return read("r1", "other.ts");
		},
		"ok",
	]);
	expect(pi.textOf("r1")).toBe(other);
});

test("a copy without an id cannot be found in a request, so nothing older passes for the newest", async () => {
	const pi = await start("free");
	pi.write("a.ts", lines("one"));
	pi.write("b.ts", lines("b"));
	await pi.run("look", [read("r1", "a.ts"), "ok"]);
	await pi.command("/workset add a.ts b.ts");
	pi.write("a.ts", lines("two"));
	await pi.run("second", ["ok"]);
	const slot = pi.sessionManager.getBranch().findLast(({ type }) => type === "custom_message");
	if (slot?.type !== "custom_message") throw new Error("no slot");
	await pi.command("/workset clear");
	pi.sessionManager.appendContextEdit(slot.id, null);
	pi.sessionManager.appendCustomMessageEntry(slot.customType, slot.content, false, {});
	pi.session.refreshContext();
	pi.write("a.ts", lines("one"));
	await pi.run("look again", [read("r2", "a.ts"), "ok"]);
	expect(pi.textOf("r2")).toBe(lines("one"));
});

test("a refilled slot counts from when it was refilled, not from where it stands", async () => {
	const pi = await start("free");
	pi.write("a.ts", lines("one"));
	pi.write("b.ts", lines("b"));
	await pi.command("/workset add a.ts b.ts");
	await pi.run("first", ["ok"]);
	pi.write("a.ts", lines("two"));
	await pi.run("second", ["ok"]);
	await pi.command("/readcache-refresh a.ts");
	await pi.run("look", [read("r1", "a.ts"), "ok"]);
	expect(pi.textOf("r1")).toBe(lines("two"));
	pi.write("a.ts", lines("three"));
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 60 * 60_000 });
	atEnd(() => vi.useRealTimers());
	await pi.restart();
	await pi.run("cold: the slot is filled anew", ["ok"]);
	await pi.command("/workset drop a.ts");
	await pi.run("dropped", ["ok"]);
	pi.write("a.ts", lines("two"));
	await pi.run("look again", [read("r2", "a.ts"), "ok"]);
	expect(pi.textOf("r2")).not.toMatch(/unchanged/);
});

test("what a slot is to become is not taken for what the session says it is", {
	tags: "slow",
}, async () => {
	const pi = await start("free");
	pi.write("a.ts", lines("one"));
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	pi.write("a.ts", lines("two"));
	await pi.run("second", ["ok"]);
	await pi.restart();
	pi.write("a.ts", lines("one"));
	// In this request the slot is as it was, and the snapshot is hidden; both are so in the session only afterwards.
	await pi.run("look", [read("r1", "a.ts"), "ok"]);
	expect(pi.textOf("r1")).toBe(lines("one"));
	await pi.run("look again", [read("r2", "a.ts"), "ok"]);
	expect(pi.textOf("r2")).toMatch(/^\[readcache: unchanged/);
});

test.each([
	["CRLF", "a\r\nb\r\n".repeat(20)],
	["a BOM", `\ufeff${lines("bom")}`],
	["line separators", lines("u").replaceAll("\n", "\u2028\n")],
	["no newline at the end", "x".repeat(200)],
	["nothing but newlines", "\n".repeat(300)],
])("a working file with %s is known to the byte", async (_what, text) => {
	const pi = await start();
	pi.write("a.ts", text);
	await pi.command("/workset add a.ts");
	await pi.run("look", [read("r1", "a.ts"), "ok"]);
	const first = pi.textOf("r1");
	expect(first === text || first.startsWith("[readcache: unchanged")).toBe(true);
	pi.write("a.ts", `${text}\n`);
	await pi.command("/workset clear");
	await pi.run("look", [read("r2", "a.ts"), "ok"]);
	expect(pi.textOf("r2")).not.toMatch(/^\[readcache: unchanged/);
});

test("what another extension makes of a copy is not taken for it", async () => {
	let vandal = false;
	const vandalism = {
		name: "vandal",
		factory: (api: Parameters<typeof strata>[0]) =>
			api.on("context", ({ messages }) => {
				if (!vandal) return;
				return {
					messages: messages.map((message) =>
						message.role === "custom" && Array.isArray(message.content)
							? {
									...message,
									content: message.content.map((block) =>
										block.type === "text"
											? { ...block, text: block.text.replace("one 7", "one seven") }
											: block,
									),
								}
							: message,
					),
				};
			}),
	};
	const pi = await startPi({
		thinking: "free",
		extensions: [vandalism, ...extensions],
		tools: ["read"],
	});
	pi.write("a.ts", lines("one"));
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	vandal = true;
	await pi.run("look", [
		(context) => {
			expect(JSON.stringify(context.at(-1))).toContain("one 7\\n");
			return read("r1", "a.ts");
		},
		"ok",
	]);
	expect(pi.textOf("r1")).toBe(lines("one"));
});

/** Changes a.ts once, when pi has made the request and before the working set looks at it. */
function lateChange(text: string) {
	const late = { armed: false };
	const extension = {
		name: "late",
		factory: (api: Parameters<typeof strata>[0]) =>
			api.on("context", (_event, ctx) => {
				if (late.armed) writeFileSync(join(ctx.cwd, "a.ts"), text);
				late.armed = false;
			}),
	};
	return { late, extension };
}

test.each([
	["at the end of the request", "log"],
	["before the conversation", "tiers"],
])(
	"an older copy never passes for the newest while another version stands %s",
	async (_where, layout) => {
		const { late, extension } = lateChange(lines("two"));
		const pi = await startPi({
			thinking: "free",
			extensions: [...extensions, extension],
			tools: ["read"],
		});
		pi.write(".pi/strata.json", JSON.stringify({ tiers: { layout } }));
		await pi.newSession();
		pi.write("a.ts", lines("one"));
		await pi.run("look", [read("r1", "a.ts"), "ok"]);
		await pi.command("/workset add a.ts");
		await pi.run("first", ["ok"]);
		late.armed = true;
		await pi.run("second", [
			(context) => {
				expect(JSON.stringify(context)).toContain("two 7");
				pi.write("a.ts", lines("one"));
				return read("r2", "a.ts");
			},
			"ok",
		]);
		expect(pi.textOf("r2")).toBe(lines("one"));
	},
);
