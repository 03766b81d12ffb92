import { costOf, createCacheSimulator, rulesFor } from "/work/main/src/economy/index.ts";
import { WORKLOADS, generateRequests } from "/work/main/bench/tiers/workload.ts";
import { noCache, fixedOrder, appendAndReread } from "/work/main/bench/tiers/plain-layouts.ts";
import { tiers } from "/work/main/bench/tiers/tier-layout.ts";
import { log } from "/work/main/bench/tiers/log-layout.ts";
const layouts: any = { noCache, fixedOrder, appendAndReread, tiers: tiers(1024), tiers0: tiers(0), log };
let tot=0,n=0,worst=0;for (const r of [0.1, 0.05, 0.025]) {
  const rules = rulesFor({ provider: "anthropic", id: "claude-sonnet-5" }, { readRatio: r });
  for (const w of WORKLOADS) {
    const row: any = {};
    for (let s = 0; s < 20; s++) {
      const session = generateRequests(w, s);
      for (const [n, l] of Object.entries(layouts)) {
        const c = createCacheSimulator(rules);
        for (const q of l(session, rules)) row[n] = (row[n] ?? 0) + costOf(c.send(q), rules);
      }
    }
    const b=Math.min(row.fixedOrder,row.appendAndReread,row.tiers,row.tiers0); const x=row.log/b; tot+=Math.log(x);n++;worst=Math.max(worst,x);if(!process.env.Q)console.log(r, w.name.padEnd(20), Object.entries(row).map(([k, v]: any) => k + " " + (v / row.noCache).toFixed(3)).join("  "), "log/best", x.toFixed(4), x>1.005?"XXX":"");
  }
}

console.log("mean",Math.exp(tot/n).toFixed(4),"worst",worst.toFixed(4));
