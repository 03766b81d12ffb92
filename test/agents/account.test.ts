import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProxy, upstreamsFrom } from "../../src/proxy/index.ts";
import { Book, TrafficObserver } from "../../src/traffic/index.ts";
import { type Driver, DUMMY_KEY, drivers } from "../support/agents/drivers.ts";
import { agentPackages, isFetched } from "../support/agents/packages.ts";
import { type AgentHome, NOTES } from "../support/agents/run-agent.ts";
import type { Step } from "../support/stand-in/script.ts";
import type { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import type { Between } from "./between.ts";
import { ANSWER, outcomeOf, session, usualScript } from "./session.ts";

const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
const ready = drivers.filter(({ agent }) => fetched.includes(agent));

test.each(ready)(
	"$name: the book's sums are the provider's bill, without a miss",
	async (driver) => {
		const { sums, standIn } = await booked(driver, usualScript);
		expectSameBill(sums, standIn);
		const main = sums.filter(({ requests }) => requests >= 4);
		expect(main).toHaveLength(1);
		expect(main[0]?.speaker.agent).toBe(driver.agent);
		expect(sums.map(({ misses }) => misses)).toEqual(sums.map(() => 0));
	},
);

test.each(ready.filter(({ delegates }) => delegates))(
	"$name: a sub-agent has a conversation of its own",
	async (driver) => {
		const { sums, standIn } = await booked(driver, ({ notes }) => [
			{ delegate: "Count the notes." },
			{ read: notes },
			{ say: "They are 40." },
			{ say: ANSWER },
		]);
		expectSameBill(sums, standIn);
		expect(sums.filter(({ requests }) => requests === 2)).toHaveLength(2);
		expect(sums.map(({ misses }) => misses)).toEqual(sums.map(() => 0));
	},
);

type Sums = ReturnType<Book["sums"]>;

async function booked(driver: Driver, script: (home: AgentHome) => readonly Step[]) {
	const folder = join(tempDir("book"), "traffic");
	const observer = new TrafficObserver({ folder, keepDays: 30, keepTexts: false });
	const between: Between = {
		name: "observed",
		async open(url, upstream) {
			const proxy = await startProxy({
				port: 0,
				upstreams: upstreamsFrom({ [upstream]: url }),
				onExchange: (exchange) => observer.add(exchange),
			});
			return { base: proxy.baseUrl(upstream), close: () => proxy.close() };
		},
	};
	const { run, standIn } = await session(driver, between, script);
	expect(outcomeOf(run, standIn)).toBe("answered");
	await observer.close();
	const billed = standIn.requests.filter(({ usage }) => usage).length;
	expect(observer.counts).toMatchObject({ booked: billed, failed: 0, unreadable: 0, dropped: 0 });
	const book = (await Book.openForReading(folder)) as Book;
	atEnd(() => book.close());
	const sums = book.sums();
	const bytes = globSync("**/*", { cwd: folder, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
		.join("");
	expect(bytes).not.toContain(DUMMY_KEY);
	expect(bytes).not.toContain(NOTES.slice(0, 15));
	expect(bytes).not.toContain("How many notes");
	return { sums, standIn };
}

function expectSameBill(sums: Sums, { requests }: StandIn): void {
	const total = { input: 0, read: 0, write: 0, output: 0 };
	for (const { tokens } of sums) for (const name of names(total)) total[name] += tokens[name];
	const billed = { input: 0, read: 0, write: 0, output: 0 };
	for (const { usage } of requests)
		for (const name of names(billed)) billed[name] += usage?.[name] ?? 0;
	expect(total).toEqual(billed);
}

function names<T extends object>(value: T): (keyof T)[] {
	return Object.keys(value) as (keyof T)[];
}
