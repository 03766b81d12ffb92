import { rulesFor } from "../../src/economy/index.ts";
import { readSessionFile, rebuildRequests, replayPolicies, runPolicy } from "../../src/economy/replay/index.ts";
import { logPolicy } from "../../src/tiers/log/log-policy.ts";
import { tiersPolicy } from "../../src/tiers/log/tiers-policy.ts";
const f = await readSessionFile("/work/shared/traces/pi-mono_before-compaction.jsonl");
for (const r of [0.1]) {
  const s = rebuildRequests(f, (name) => ({ name, rules: rulesFor(name, { readRatio: r }), prices: undefined, contextWindow: 200000 }));
  const a = runPolicy(replayPolicies.find((p) => p.name === "append-only")!, s).cost;
  for (const p of [tiersPolicy(), tiersPolicy({ cacheMinTokens: 0 }), logPolicy]) { const t = Date.now(); console.log(r, p.name, (runPolicy(p, s).cost / a).toFixed(3), Date.now() - t); }
}
