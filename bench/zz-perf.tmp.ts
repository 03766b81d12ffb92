import { createLedger } from "/work/main/src/context/index.ts";
import { loadConfig } from "/work/main/src/core/config.ts";
import { surveyOf } from "/work/main/src/extension/prunable-session.ts";
import { createPruner, prune, contentOf, standingTokens, followTouches } from "/work/main/src/pruning/index.ts";
import { createBlobStore } from "/work/main/src/core/blob-store.ts";
import { rulesFor } from "/work/main/src/economy/index.ts";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { fauxAssistantMessage, fauxToolCall } from "@earendil-works/pi-ai";
import { mkdtempSync } from "node:fs";
const dir = mkdtempSync("/tmp/perf-");
const cfg = loadConfig({ agentDir: dir, cwd: dir }).config;
const s = SessionManager.inMemory(dir);
const N = 10000;
s.appendMessage({ role: "user", content: "go", timestamp: 0 });
for (let i = 0; i < N; i++) {
	if (i % 50 === 0) s.appendMessage({ role: "user", content: "on", timestamp: 0 });
	const id = `c${i}`;
	s.appendMessage(fauxAssistantMessage([fauxToolCall("read", { path: process.argv[2] === "same" ? "a.ts" : `f${i}.ts`, offset: i+1, limit: 10 }, { id })], { stopReason: "toolUse" }));
	s.appendMessage({ role: "toolResult", toolCallId: id, toolName: "read", content: [{ type: "text", text: `line ${i}\n`.repeat(200) }], isError: false, timestamp: 0 });
}
s.appendMessage(fauxAssistantMessage("done"));
const ledger = createLedger();
const time = async (name: string, f: () => any) => { const t = performance.now(); const r = await f(); console.log(name, (performance.now() - t).toFixed(0), "ms"); return r; };
await time("ledger first", () => ledger.log(s));
const st = await time("survey", () => surveyOf(s, ledger, { settings: cfg, cwd: dir }));
const st2 = await time("survey again", () => surveyOf(s, ledger, { settings: cfg, cwd: dir }));
const pruner = createPruner(cfg.prune);
const d = await time("decide", () => pruner.decide({ ...st, rules: rulesFor({ provider: "anthropic", id: "claude-opus-4-5" }), cold: true, contextTokens: 0, contextWindow: 200000, ttl: "5m" }));
console.log(d.candidates.length);
const blobs = createBlobStore({ ...cfg.blobs, dir: dir + "/blobs" });
const b = await time("prune 500", () => prune(d.candidates, blobs));
console.log(b.pruned.length, b.why);
await time("persist 500", () => { for (const one of b.pruned) s.appendContextEdit(one.entryId, { content: contentOf(one) }); });
// markers on one file
const touches: any[] = [];
for (let i = 0; i < N; i++) touches.push({ item: i, file: "a", kind: i % 2 ? "refers" : "shown", ...(i % 2 === 0 && { lines: [i, i + 5] }) });
await time("touches of one file", () => followTouches(touches));
console.log(Math.round(process.memoryUsage().heapUsed / 1e6), "MB");
