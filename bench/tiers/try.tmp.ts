import { costOf, createCacheSimulator, rulesFor } from "/work/main/src/economy/index.ts";
import { WORKLOADS, generateRequests } from "/work/main/bench/tiers/workload.ts";
import { noCache, fixedOrder, appendAndReread } from "/work/main/bench/tiers/plain-layouts.ts";
import { tiers } from "/work/main/bench/tiers/tier-layout.ts";
import { log } from "/work/main/bench/tiers/log-layout.ts";
const layouts: any = { noCache, fixedOrder, appendAndReread, tiers: tiers(1024), tiers0: tiers(0), log };
let tot=0,n=0,worst=0;for (const r of [0.1, 0.05, 0.025]) {
  const rules = rulesFor({ provider: "anthropic", id: "claude-sonnet-5" }, { readRatio: r });
  for (const w of process.env.X ? [
{name:"all cold",gapSeconds:3000},{name:"gaps 10 min",gapSeconds:600},{name:"gaps 20 min",gapSeconds:1200},{name:"gaps 10m no edits",gapSeconds:600,editsPerTurn:0},
{name:"all edited",editsPerTurn:30},{name:"8 edits",editsPerTurn:8},{name:"1 turn",turns:1},{name:"2 turns",turns:2},{name:"3 turns",turns:3},{name:"5 turns",turns:5},{name:"3 turns no edits",turns:3,editsPerTurn:0},
{name:"2 hot always",hotFiles:2,hotShare:1,editsPerTurn:4},{name:"one file",files:1,editsPerTurn:1},{name:"one file small",files:1,fileTokens:200,editsPerTurn:1},{name:"churn fast",swapsPerTurn:1,editsPerTurn:0},{name:"churn slow",swapsPerTurn:.1,editsPerTurn:0},{name:"loops long",turns:20,requestsPerTurn:15,editsPerTurn:6},{name:"4 big",files:4,fileTokens:20000,editsPerTurn:.5},{name:"120 few",turns:120,editsPerTurn:.2},{name:"gaps 3 min",gapSeconds:180}] : WORKLOADS) {
    const row: any = {};
    for (let s = 0; s < (Number(process.env.S ?? 20)); s++) {
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
