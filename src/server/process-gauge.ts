import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Metrics } from "./metrics.ts";

/** Watches this process. */
export interface ProcessGauge {
	read(): Metrics["process"];
	close(): void;
}

const RESOLUTION_MS = 20;

export function createProcessGauge(): ProcessGauge {
	const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
	delay.enable();
	return {
		read() {
			const { rss, heapUsed } = process.memoryUsage();
			const { user, system } = process.cpuUsage();
			const loopDelayMs = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS);
			delay.reset();
			return {
				uptimeSeconds: process.uptime(),
				residentBytes: rss,
				heapBytes: heapUsed,
				cpuSeconds: (user + system) / 1e6,
				loopDelayMs: Number.isFinite(loopDelayMs) ? loopDelayMs : 0,
			};
		},
		close: () => void delay.disable(),
	};
}
