import { monitorEventLoopDelay } from "node:perf_hooks";

/** Figures of this process. */
export interface ProcessFigures {
	uptimeSeconds: number;
	residentBytes: number;
	heapBytes: number;
	externalBytes: number;
	cpuSeconds: number;
	/** How late timers came, at the 99th percentile since the figures were last read. */
	loopDelayMs: number;
}

/** Watches this process. */
export interface ProcessGauge {
	read(): ProcessFigures;
	close(): void;
}

const RESOLUTION_MS = 20;

export function createProcessGauge(): ProcessGauge {
	const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
	delay.enable();
	return {
		read() {
			const { rss, heapUsed, external } = process.memoryUsage();
			const { user, system } = process.cpuUsage();
			const loopDelayMs = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS);
			delay.reset();
			return {
				uptimeSeconds: process.uptime(),
				residentBytes: rss,
				heapBytes: heapUsed,
				externalBytes: external,
				cpuSeconds: (user + system) / 1e6,
				loopDelayMs: Number.isFinite(loopDelayMs) ? loopDelayMs : 0,
			};
		},
		close: () => void delay.disable(),
	};
}
