import { loadConfig } from "../../core/config.ts";
import type { Later } from "../../core/later.ts";
import { workerEntry } from "../../core/worker-entry.ts";
import type { ResponseData } from "../../protocol/index.ts";
import { startOfDay } from "../../usage/index.ts";
import { dayOf, SavedBook } from "../../usage/saved-book.ts";
import { type Call, CommandError, type Handlers } from "../engine/call.ts";
import { FairQueue } from "../replay/fair-queue.ts";
import { safeText } from "../safe-text.ts";
import { SessionFilesWorker } from "../session-files-worker.ts";
import type { UsageAnswer, UsageJob } from "./usage-worker.ts";

interface ServerUsageOptions {
	readonly agentDir: string;
	readonly cwd: string;
	/** Names the folders of agents. Default: the process's own. */
	readonly env?: NodeJS.ProcessEnv;
	/** Whether no other principal owns a session file. */
	isSoleOwner(principal: string): Later<boolean>;
	/** A session file of pi, if the principal may read it. */
	storedFile(principal: string, path: string): Promise<unknown>;
}

/** One at a time; principals take turns. */
const LIMITS = { running: 1, runningPerPrincipal: 1, waiting: 64, waitingPerPrincipal: 8 };
const MAX_HEAP_MB = 768;
const IDLE_MS = 30_000;
const DEFAULT_DAYS = 30;

type Caller = Pick<Call, "principal" | "signal">;

/** What agents' requests cost, from their session files in a thread, and what pi's sessions saved, from the book. */
export class ServerUsage {
	readonly #options: ServerUsageOptions;
	readonly #queue = new FairQueue(LIMITS, "read");
	readonly #worker: SessionFilesWorker<UsageJob, UsageAnswer>;

	constructor(options: ServerUsageOptions) {
		this.#options = options;
		const { agentDir, env } = options;
		this.#worker = new SessionFilesWorker({
			...{ agentDir, env, idleMs: IDLE_MS, maxHeapMb: MAX_HEAP_MB },
			entry: workerEntry("./usage-worker", import.meta.url),
		});
	}

	readonly handlers = {
		get_usage: async ({ command: { days }, principal, signal }) => ({
			data: await this.#queue.run(principal, signal, async () => {
				const hidden = await this.#hiddenFrom({ principal, signal });
				const { report } = await this.#worker.run({ read: "usage", days, hidden }, signal);
				return report;
			}),
		}),
		get_saved: async ({ command: { days = DEFAULT_DAYS }, principal }) => ({
			data: await this.#saved(days, principal),
		}),
	} satisfies Partial<Handlers>;

	close(): Promise<void> {
		return this.#worker.close();
	}

	/** Pi's session files that belong to other principals. Usually there are none, and no file is looked at. */
	async #hiddenFrom({ principal, signal }: Caller): Promise<string[]> {
		const { isSoleOwner, storedFile } = this.#options;
		if (await isSoleOwner(principal)) return [];
		const { ofPi = [] } = await this.#worker.run({ read: "files" }, signal);
		const hidden: string[] = [];
		for (const file of ofPi) if (!(await storedFile(principal, file))) hidden.push(file);
		return hidden;
	}

	/** The book does not say whose a session was, so it is shown only if no other principal has any. */
	async #saved(days: number, principal: string): Promise<ResponseData["get_saved"]> {
		const { agentDir, cwd } = this.#options;
		const { dailyBudget } = loadConfig({ agentDir, cwd }).config.economy;
		const budget = dailyBudget > 0 ? { budget: dailyBudget } : {};
		const nowMs = Date.now();
		const isOwn = await this.#options.isSoleOwner(principal);
		const book = isOwn ? await SavedBook.openIfThere(agentDir) : SHARED;
		if (!book || typeof book === "string") {
			const problem = book !== undefined && { problem: safeText(book) };
			return { today: NOTHING, all: NOTHING, days: [], ...budget, ...problem };
		}
		try {
			return {
				today: book.sums(dayOf(nowMs)),
				all: book.sums(),
				days: book.days(dayOf(startOfDay(nowMs, days - 1))),
				...budget,
			};
		} catch (error) {
			throw new CommandError("failed", `the book of savings cannot be read: ${safeText(error)}`);
		} finally {
			book.close();
		}
	}
}

const SHARED =
	"savings are summed over all sessions, and other principals have some on this server";
const NOTHING = { requests: 0, dollars: 0, unpriced: 0, saved: {} };
