import { type Block, type CacheRules, isCold, placeBreakpoints, type Request } from "../../src/economy/index.ts";
import { type Copy, createLogLayout, type LogPlan, type WorkingFile } from "../../src/tiers/log/layout.ts";
import { fileBlock, HEAD, type Layout, messageBlock } from "./plain-layouts.ts";
import type { ShownFile, WorkRequest } from "./workload.ts";

type Entry = { kind: "message"; blocks: Block[] } | { kind: "slot" | "snapshot"; id: string; files: ShownFile[] };

export const log: Layout = function* (session, rules) {
	const layout = createLogLayout();
	let entries: Entry[] = [];
	let ids = 0;
	let before: number | undefined;
	const n = new Map<string, { hash: string; n: number }>();
	let previousTail: number | undefined;
	for (const { atMs, files, added } of session) {
		const isFirst = before === undefined;
		const cold = before === undefined || isCold({ gapMs: atMs - before, ttlMs: rules.ttlMs["5m"] }).cold;
		before = atMs;
		const messages: Entry = { kind: "message", blocks: added.map(messageBlock) };
		if (!isFirst) entries.push(messages);
		const working: WorkingFile[] = files.map((f) => {
			const b = n.get(f.path);
			const k = b && b.hash === f.hash ? b.n + 1 : 0;
			n.set(f.path, { hash: f.hash, n: k });
			return { ...f, n: Math.min(k, 12), tier: k < 3 ? "active" : k < 6 ? "L3" : k < 9 ? "L2" : k < 12 ? "L1" : "L0" };
		});
		const all = blocksOf(entries);
		const plan = layout.decide({ files: working, copies: copiesOf(entries), rules, cold, contextTokens: total(HEAD) + total(all), contextWindow: 1_000_000 });
		const byPath = new Map(files.map((f) => [f.path, f]));
		const get = (p: string) => byPath.get(p)!;
		const old = blocksOf(entries);
		if (plan.slot) {
			const filled = plan.slot.paths.map(get);
			if (plan.slot.entryId) entries = entries.map((e) => e.kind !== "message" && e.id === plan.slot!.entryId ? { ...e, files: filled } : e);
			else entries.push({ kind: "slot", id: `s${ids++}`, files: filled });
		}
		entries = entries.filter((e) => e.kind === "message" || !plan.drop.includes(e.id));
		for (const p of plan.append) entries.push({ kind: "snapshot", id: `s${ids++}`, files: [get(p)] });
		if (isFirst) entries.push(messages);
		const body = blocksOf(entries);
		// check
		const live = new Map<string, string>();
		for (const e of entries) if (e.kind !== "message") for (const f of e.files) live.set(f.path, f.hash);
		for (const p of plan.tail) live.set(p, get(p).hash);
		for (const f of files) if (live.get(f.path) !== f.hash) throw new Error("not fresh " + f.path);
		const blocks = [...HEAD, ...body, ...plan.tail.map((p) => fileBlock(get(p)))];
		const tail = HEAD.length + body.length - 1;
		let frontier: number | undefined;
		if (plan.slot || plan.drop.length) {
			let k = 0; while (k < old.length && k < body.length && old[k]!.hash === body[k]!.hash) k++;
			frontier = HEAD.length + k - 1;
		} else if (plan.frontier) frontier = HEAD.length + indexOf(entries, plan.frontier) - 1;
		else frontier = HEAD.length + indexOf(entries, undefined) - 1;
		yield { atMs, blocks, breakpoints: placeBreakpoints({ blocks, rules, frontier, tail, ...(previousTail !== undefined && { previousTail }) }) };
		previousTail = tail;
	}
};
function total(b: readonly Block[]) { return b.reduce((s, x) => s + x.tokens, 0); }
function blocksOf(entries: Entry[]): Block[] { return entries.flatMap((e) => e.kind === "message" ? e.blocks : e.files.map(fileBlock)); }
function indexOf(entries: Entry[], f: LogPlan["frontier"]): number {
	let k = 0;
	for (const e of entries) {
		if (e.kind === "message") { k += e.blocks.length; continue; }
		if (!f) return k + e.files.length; // the end of the slot
		for (const file of e.files) { if (e.id === f.entryId && (f.path === undefined || f.path === file.path)) return k; k++; }
	}
	return k;
}
function copiesOf(entries: Entry[]): Copy[] {
	let behind = 0;
	const out: Copy[] = [];
	for (const e of entries.toReversed()) {
		if (e.kind === "message") { behind += total(e.blocks); continue; }
		out.push({ entryId: e.id, kind: e.kind, files: e.files, tokensBehind: behind });
		behind += e.files.reduce((s, f) => s + f.tokens, 0);
	}
	return out.reverse();
}
