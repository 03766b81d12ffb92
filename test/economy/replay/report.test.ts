import { describe, expect, test } from "vitest";
import { requestForStep } from "../../../src/economy/place-breakpoints.ts";
import type { ReplayReport, ReplaySession } from "../../../src/economy/replay/index.ts";
import {
	appendOnly,
	type RequestPolicy,
	replayPolicies,
	runPolicy,
	strataPolicy,
} from "../../../src/economy/replay/policies.ts";
import { buildReport, combineReports, joinReports } from "../../../src/economy/replay/report.ts";
import { reportHtml } from "../../../src/economy/replay/report-html.ts";
import { folderText, reportText } from "../../../src/economy/replay/report-text.ts";
import { rulesFor } from "../../../src/economy/rules.ts";
import { plainText } from "../../../src/text/one-line.ts";
import { SessionWriter } from "./session-writer.ts";
import { generateSession, PLAIN } from "./workload.ts";

const policies = [...replayPolicies, strataPolicy(appendOnly)];

const HOSTILE = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'\u001b[31mred\u001b[2J\u001b]0;title\u0007\u202eabc\r`;

describe("a report", () => {
	test("finds the losses in the bills and reproduces their cost", () => {
		const session = billedWithLosses([30, 61, 90]);
		const { misses, check, policies: rows } = buildReport(session, { policies });
		const lost = misses.filter(({ cause }) => cause === "provider");
		expect(lost.map(({ request }) => request)).toEqual([31, 62, 91]);
		expect(misses.filter((miss) => !lost.includes(miss))).toMatchObject([{ cause: "compaction" }]);
		expect(Math.abs(check.deviation)).toBeLessThan(0.001);
		expect(rows.find(({ name }) => name === "billed")?.ratio).toBeGreaterThan(1.05);
	});

	test("has a row for each policy, relative to append-only even if that is not among them", () => {
		const session = billedWithLosses([]);
		const all = buildReport(session, { policies }).policies;
		const [only] = buildReport(session, {
			policies: policies.filter(({ name }) => name === "strata"),
		}).policies;
		expect(all.map(({ name }) => name)).toEqual(policies.map(({ name }) => name));
		expect(only).toEqual(all.at(-1));
		for (const { read, write, input, cost, ratio } of all) {
			expect([read, write, input, cost, ratio].every(Number.isFinite)).toBe(true);
		}
	});

	test("has dollars where the price is known", () => {
		const session = billedWithLosses([]);
		const prices = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
		const priced: ReplaySession = {
			...session,
			bills: session.bills.map((bill) => ({ ...bill, model: { ...bill.model, prices } })),
		};
		const [row] = buildReport(priced, { policies }).policies;
		expect(row?.dollars).toBeCloseTo(((row?.input ?? 0) * 5) / 1_000_000);
		expect(buildReport(session, { policies }).policies[0]?.dollars).toBeUndefined();
	});

	test("thins long sessions out for the charts, and only there", () => {
		const { chart, requests } = buildReport(generateSession({ ...WORKLOAD, turns: 130 }), {
			policies,
		});
		expect(requests).toBe(1170);
		for (const { points } of chart) expect(points.length).toBeLessThanOrEqual(1000);
	});

	const WORKLOAD = {
		seed: 5,
		turns: 12,
		callsPerTurn: 8,
		resultTokens: 1500,
		answerTokens: 300,
		pauseSeconds: 30,
		repeats: 0.1,
		compactAt: 120_000,
		contextWindow: 200_000,
		readRatio: 0.1,
	};

	/** A session whose bills are those of a provider that lost its cache before the given requests. */
	function billedWithLosses(lost: number[]): ReplaySession {
		const session = generateSession(WORKLOAD);
		const losing: RequestPolicy = {
			...appendOnly,
			*requests({ steps }) {
				for (const step of steps()) {
					yield { ...requestForStep(step, step.blocks), cold: lost.includes(step.index) };
				}
			},
		};
		const bills = runPolicy(losing, session).requests;
		const steps = [...session.steps()].map((step, at) => ({
			...step,
			billed: bills[at] as (typeof bills)[number],
		}));
		return { ...session, bills: steps, steps: () => steps };
	}
});

test("a part of a prefix that the provider lost is a loss in the bills, too", async () => {
	const writer = new SessionWriter();
	writer.user("a");
	writer.assistant("b", { cacheWrite: 10_000 });
	writer.user("c");
	writer.assistant("d", { cacheRead: 10_000, cacheWrite: 1000 });
	writer.user("e");
	writer.assistant("f", { cacheRead: 7000, cacheWrite: 5000 });
	const { misses, check } = buildReport(await writer.replay(), { policies: [] });
	expect(misses).toMatchObject([{ tokens: 4000, cause: "provider" }]);
	expect(check.deviation).toBeCloseTo(0);
});

describe("the text of a report", () => {
	test("is a table with a bar for each policy, the misses, the reads in vain and what was skipped", async () => {
		const text = reportText(await hostileReport()).join("\n");
		for (const { name } of policies) expect(text).toMatch(new RegExp(`^ +${name} .*█`, "m"));
		expect(text).toContain("1 cache miss cost ");
		expect(text).toContain("Redundant file reads");
		expect(text).toContain("1 line was skipped: 1 damaged");
		expect(text).toContain("Prompt tokens per request");
	});

	test("lets nothing through that moves a cursor, colours, or turns text around", async () => {
		const text = reportText(await hostileReport()).join("\n");
		expect(text).toContain("</script>"); // as text it does no harm on a terminal
		expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
	});
});

test("a report says what is in the bill already, and is silent about a session of plain pi", async () => {
	const session = new SessionWriter();
	session.user("look");
	session.assistant([session.call("1", "read", { path: "a.ts" })], { input: 900, output: 20 });
	session.result("1", "read", "[readcache: unchanged, 40 lines]", {
		readcache: { v: 1, mode: "unchanged" },
	});
	const answer = session.assistant("done", { input: 1000, output: 20 });
	session.entry("context_edit", { targetId: answer, replacement: null });
	session.assistant("again", { input: 1000, output: 20 });
	const report = buildReport(await session.replay(), { policies });
	expect(report.savedAlready).toEqual({ shortReads: 1, edits: 1 });
	const note = "1 read answered with a marker or diff, 1 message replaced or removed";
	expect(reportText(report).join("\n")).toContain(note);
	expect(reportHtml([report])).toContain(note);
	const plain = buildReport(generateSession(PLAIN), { policies });
	expect(reportText(plain).join("\n")).not.toContain("already reduced");
});

describe("the page of a report", () => {
	test("is whole by itself: no script, nothing loaded from anywhere", async () => {
		const page = reportHtml([await hostileReport()]);
		expect(page).toMatch(/^<!doctype html>/);
		expect(page).toContain("default-src 'none'");
		expect(page).not.toMatch(/<(script|link|img|iframe|object|embed|form|a|base|image|use)\b/i);
		const tags = page.match(/<[^>]*>/g)?.join("\n");
		expect(tags).not.toMatch(/\s(src|href|xlink:href|action|on\w+)=/i);
		const style = page.slice(page.indexOf("<style>"), page.indexOf("</style>"));
		expect(style).not.toMatch(/url\(|@import/);
		expect(page.match(/<svg/g)?.length).toBeGreaterThanOrEqual(policies.length * 2);
	});

	test("says first what it comes down to, as the text does", async () => {
		const report = await hostileReport();
		const gist = /Billed: \d\.\d\d × the cost of append-only; .* Strata would have cost \d/;
		expect(reportHtml([report])).toMatch(gist);
		expect(reportText(report).join("\n")).toMatch(gist);
	});

	test("shows what a session holds as text only", async () => {
		const page = reportHtml([await hostileReport()]);
		expect(page).toContain("&lt;/script&gt;&lt;script&gt;alert(1)");
		expect(page).toContain("&quot;&#39;red");
		expect(page.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
	});

	test("holds every session of a folder", async () => {
		const report = await hostileReport();
		const page = reportHtml([report, { ...report, file: "the other" }]);
		expect(page).toContain("these 2 sessions");
		expect(page).toContain("<h2>the other</h2>");
	});
});

test("plain text is one line of bounded length", () => {
	expect(plainText("a\tb\n\nc")).toBe("a b c");
	expect(plainText("\u001b[1;31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007")).toBe(
		"red link",
	);
	expect(plainText("x".repeat(500), 10)).toBe(`${"x".repeat(9)}…`);
	expect(plainText("\ud800 \u{e000}\u0085")).toBe("");
	expect(plainText("日本語 é 😀")).toBe("日本語 é 😀");
});

/** A session in which everything a stranger can name is hostile: paths, tools, models, the file itself. */
async function hostileReport(): Promise<ReplayReport> {
	const writer = new SessionWriter();
	const text = "line\n".repeat(500);
	const model = { provider: HOSTILE, model: HOSTILE };
	writer.user(HOSTILE);
	writer.assistant([writer.call("c1", "read", { path: HOSTILE })], { cacheWrite: 9000 }, model);
	writer.result("c1", "read", text);
	writer.raw("{ damaged");
	writer.assistant(
		[writer.call("c2", "read", { path: HOSTILE })],
		{ cacheRead: 9000, cacheWrite: 900 },
		model,
	);
	writer.result("c2", "read", text);
	writer.entry("context_edit", { targetId: "e0", replacement: { content: HOSTILE } });
	writer.assistant([writer.call("c3", HOSTILE, {})], { cacheWrite: 11_000 }, model);
	writer.result("c3", HOSTILE, HOSTILE);
	writer.assistant("done", { cacheRead: 11_000, cacheWrite: 100 }, model);
	const session = await writer.replay();
	const rules = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" });
	expect(session.bills[0]?.model.rules).toEqual(rules);
	return buildReport({ ...session, file: HOSTILE }, { policies });
}

test("a folder counts the skipped lines of a file once, however many sessions the file has", async () => {
	const writer = new SessionWriter().raw("{ damaged");
	writer.user("a");
	writer.assistant("b", { cacheWrite: 50_000 });
	const one = buildReport(await writer.replay(), { policies });
	const parts = [one, { ...one, subagent: "a1" }, { ...one, file: "other" }];
	expect(one.skipped).toBe(1);
	expect(combineReports("folder", parts, []).skipped).toBe(2);
});

test("misses of joined sessions name their session, since each counts its own requests", async () => {
	const writer = new SessionWriter();
	for (const cacheWrite of [50_000, 50_100]) {
		writer.user("a");
		writer.assistant("b", { cacheWrite });
	}
	const session = await writer.replay();
	const parts = ["a1", "a2"].map((subagent) => buildReport(session, { policies, subagent }));
	const joined = joinReports([buildReport(session, { policies }), ...parts]);
	expect(joined?.misses.map(({ request, subagent }) => [request, subagent])).toEqual([
		[2, undefined],
		[2, "a1"],
		[2, "a2"],
	]);
	const lines = reportText(joined as ReplayReport).filter((line) => line.includes("#2"));
	expect(lines.join("\n")).toMatch(/sub-agent a1[\s\S]*sub-agent a2/);
});

describe("requests at another speed than list prices are for", async () => {
	const writer = new SessionWriter();
	writer.user("a");
	writer.assistant("b", { input: 5000 });
	writer.user("c");
	writer.assistant("d", { input: 6000 });
	const session = await writer.replay();
	const prices = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
	const reportAt = (...tiers: (string | undefined)[]) => {
		const bills = session.bills.map((bill, index) => {
			const tier = tiers[index];
			return { ...bill, model: { ...bill.model, prices }, ...(tier && { tier }) };
		});
		return buildReport({ ...session, bills }, { policies });
	};

	test("count in no sum of dollars, and the report says how many they are", () => {
		const [all, some, none] = [reportAt(), reportAt(undefined, "fast"), reportAt("fast", "fast")];
		expect(all).not.toHaveProperty("unpriced");
		expect(some.unpriced).toBe(1);
		expect(some.policies[0]?.dollars).toBeCloseTo(0.025);
		expect(all.policies[0]?.dollars).toBeCloseTo(0.055);
		expect(none.unpriced).toBe(2);
		expect(none.policies[0]).not.toHaveProperty("dollars");
	});

	test("are named in text, page and sums", () => {
		const some = reportAt(undefined, "fast");
		const note = "Unpriced: 1 request. It counts in no sum of dollars.";
		expect(reportText(some)).toContain(note);
		expect(reportHtml([some])).toContain(note);
		expect(reportText(reportAt()).join()).not.toContain("npriced");
		const folder = combineReports("f", [some, reportAt(), reportAt("fast", "fast")], []);
		expect(folder.unpriced).toBe(3);
		expect(folder.policies[0]?.dollars).toBeCloseTo(0.08);
		const both = "Unpriced: 3 requests. They count in no sum of dollars.";
		expect(folderText(folder)).toContain(both);
		expect(reportHtml([some], folder)).toContain(both);
		expect(joinReports([some, some])?.unpriced).toBe(2);
	});
});
