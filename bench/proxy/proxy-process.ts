/** The proxy in a process of its own: `proxy-process.ts <upstream> <maxBodyBytes> [<folder for savings>]`. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startProxy, upstreamsFrom } from "../../src/proxy/index.ts";
import { openMarks, Rewriter } from "../../src/savings/index.ts";

const [upstream = "", maxBodyBytes, savings] = process.argv.slice(2);
const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();

const marks = savings === undefined ? undefined : await openMarks(savings, 1);
const rewriter = marks && new Rewriter({ marks });

const proxy = await startProxy({
	port: 0,
	upstreams: upstreamsFrom({ bench: upstream }),
	onExchange: () => {},
	...(rewriter && { rewrite: (request) => rewriter.rewrite(request) }),
	limits: { maxBodyBytes: Number(maxBodyBytes) },
});
// A question for figures, which also begins the next measurement of the event loop.
process.on("message", () => {
	process.send?.({ rssBytes: process.memoryUsage.rss(), heldMs: delays.max / 1e6 - RESOLUTION_MS });
	delays.reset();
});
process.once("disconnect", () => process.exit());
process.send?.(proxy.port);
