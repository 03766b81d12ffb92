import { expect, test } from "vitest";
import {
	type Metrics,
	metricsData,
	ProcessGauge,
	prometheusText,
} from "../../src/server/metrics.ts";
import { atEnd } from "../support/temp.ts";

test("every figure has a help, a type and one value, under a name of its own", () => {
	const lines = prometheusText(metrics()).trimEnd().split("\n");
	const names = new Set<string>();
	for (let i = 0; i < lines.length; i += 3) {
		const [, name = "", kind] = /^# TYPE (\S+) (counter|gauge)$/.exec(lines[i + 1] ?? "") ?? [];
		expect(lines[i]).toMatch(new RegExp(`^# HELP ${name} \\S.*\\.$`));
		expect(lines[i + 2]).toMatch(new RegExp(`^${name} \\d+(\\.\\d+)?(e-\\d+)?$`));
		expect(name).toMatch(/^strata_[a-z_]+$/);
		expect(name.endsWith("_total")).toBe(kind === "counter");
		names.add(name);
	}
	expect(names.size).toBe(lines.length / 3);
	expect(prometheusText(metrics())).toContain("\nstrata_commands_accepted_total 3\n");
});

test("get_metrics has the same figures in the protocol's shape", () => {
	expect(metricsData(metrics())).toMatchObject({
		clients: 1,
		sessions: 2,
		commands: { accepted: 3, pending: 0 },
		journal: { commits: 4 },
		memory: { rssBytes: expect.any(Number) },
	});
});

function metrics(): Metrics {
	const gauge = new ProcessGauge();
	atEnd(() => gauge.close());
	return {
		engine: {
			clients: 1,
			pending: 0,
			lanes: 0,
			accepted: 3,
			finished: 3,
			failed: 0,
			replayed: 0,
			timedOut: 0,
			rateLimited: 0,
			rejected: 0,
		},
		journal: {
			bytes: 1,
			commands: 1,
			events: 1,
			sessions: 1,
			commits: 4,
			commitMsTotal: 1.5,
			pending: 0,
			healthy: true,
		},
		sessions: 2,
		parked: 0,
		process: gauge.read(),
		connections: { open: 1, opened: 1, refused: 0, overloaded: 0, queuedBytes: 0 },
	};
}
