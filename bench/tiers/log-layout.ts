/** The `log` layout as requests of a generated session: the same code that decides in pi, applied to blocks. */

import { placeBreakpoints } from "../../src/economy/place-breakpoints.ts";
import { isCold } from "../../src/economy/rules.ts";
import { TierController } from "../../src/tiers/index.ts";
import { LogLayout } from "../../src/workset/log/layout.ts";
import { createLogSession, tokensOf } from "./log-session.ts";
import { fileBlock, HEAD, type Layout, messageBlock } from "./plain-layouts.ts";

/** No window limits a session here: the other layouts would not fit into one. */
const CONTEXT_WINDOW = 1_000_000;

export const log: Layout = function* (session, rules) {
	const layout = new LogLayout();
	const ranking = new TierController();
	const log = createLogSession();
	let lastMs: number | undefined;
	let previousTail: number | undefined;
	for (const { atMs, files, modified, added } of session) {
		const isFirst = lastMs === undefined;
		const gapMs = atMs - (lastMs ?? 0);
		lastMs = atMs;
		const messages = added.map(messageBlock);
		// The working set is chosen before the first prompt; later, files change before or while the model answers.
		if (!isFirst) log.add(messages);
		const items = files.map(({ path, ...file }) => ({ key: path, ...file }));
		ranking.next({ files: items, symbols: [], history: [], modified });
		const ranks = ranking.items();
		const plan = layout.decide({
			files: files.map((file) => ({ ...file, ...(ranks.get(file.path) ?? UNRANKED) })),
			copies: log.copies(),
			rules,
			isBound: false,
			cold: isFirst || isCold({ gapMs, ttlMs: rules.ttlMs["5m"] }).cold,
			contextTokens: tokensOf([...HEAD, ...log.blocks()]),
			contextWindow: CONTEXT_WINDOW,
		});
		const frontier = plan.frontier && HEAD.length + log.indexOf(plan.frontier) - 1;
		log.carryOut(plan, files);
		if (isFirst) log.add(messages);

		const body = [...HEAD, ...log.blocks()];
		const hot = files.filter(({ path }) => plan.tail.includes(path));
		const blocks = [...body, ...hot.map(fileBlock)];
		const tail = body.length - 1;
		const breakpoints = placeBreakpoints({
			blocks,
			rules,
			tail,
			...(frontier !== undefined && { frontier }),
			...(previousTail !== undefined && { previousTail }),
		});
		yield { atMs, blocks, breakpoints };
		previousTail = tail;
	}
};

const UNRANKED = { tier: "active", n: 0 } as const;
