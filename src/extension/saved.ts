import { isDemoModel } from "../core/demo-model.ts";
import { describeError } from "../core/errno.ts";
import { projectRoot } from "../core/places.ts";
import { dollarsOf, rulesFor } from "../economy/rules.ts";
import type { SessionView, System } from "../session/index.ts";
import type { SavedBook } from "../usage/saved-book.ts";
import type { BookSums, SessionAccount } from "./session-account.ts";

type Answer = Parameters<NonNullable<System["onAnswer"]>>[0];

/** At these shares of the budget, the user is warned. */
const WARNINGS = [0.8, 1];

/**
 * Counts what the session cost and saved against pi alone: for `/strata`, a word in the footer, a line at the
 * end of a run, and the book of all sessions. Nothing of it reaches the model.
 */
export class SavedSystem implements System {
	readonly name = "saved";
	readonly #agentDir: string;
	/** Entries that are in the book, or that another process or session has counted. */
	#known = new Set<string>();
	#book: SavedBook | undefined;
	#failure: string | undefined;
	/** Dollars of today: those in the book, and those of this run. */
	#spent: { booked: number; running: number } | undefined;
	#warned = 0;

	constructor(agentDir: string) {
		this.#agentDir = agentDir;
	}

	async start(session: SessionView): Promise<void> {
		const entries = session.sessionManager.getEntries();
		this.#known = new Set(entries.map(({ id }) => id));
		if (entries.some(({ type }) => type === "message")) await this.#showWord(session);
	}

	stop(): void {
		this.#book?.close();
		this.#book = undefined;
		this.#failure = undefined;
	}

	async onAnswer({ billed }: Answer, session: SessionView): Promise<void> {
		const { dailyBudget } = session.config.economy;
		if (!billed || dailyBudget === 0) return;
		const { provider, model: id, tokens, output } = billed.bill;
		const model =
			session.model?.id === id ? session.model : session.modelRegistry.find(provider, id);
		if (!model?.cost?.input || isDemoModel(`${provider}/${id}`)) return;
		this.#spent ??= { booked: (await this.#sums())?.today.dollars ?? 0, running: 0 };
		this.#spent.running += dollarsOf({ ...tokens, output }, model.cost, rulesFor(model));
		await this.#warn(session, dailyBudget);
	}

	async onRunEnd(session: SessionView): Promise<void> {
		const account = await accountOf(session);
		const { newRows } = await import("./session-account.ts");
		const { runText } = await import("./saved-text.ts");
		const line = runText(account, this.#known);
		const rows = newRows(account, this.#known, projectRoot(session.cwd));
		for (const { id } of session.sessionManager.getEntries()) this.#known.add(id);
		await this.#showWord(session);
		if (line !== undefined && session.mode === "tui" && session.config.economy.runLine) {
			session.ui.notify(line, "info");
		}
		if (rows.length === 0) return;
		await this.#use((book) => book.add(rows));
		this.#spent = undefined; // the next answer reads what other processes have added
	}

	async onCompaction(session: SessionView): Promise<void> {
		await this.#showWord(session);
	}

	/** The first lines of `/strata`. */
	async report(session: SessionView): Promise<string[]> {
		const { sessionAccount, sessionSums } = await import("./session-account.ts");
		const { savedText } = await import("./saved-text.ts");
		const account = sessionAccount(session);
		return savedText({
			account,
			session: sessionSums(account),
			book: (await this.#sums()) ?? this.#failure ?? "the book of savings cannot be read",
			window: session.window,
			budget: session.config.economy.dailyBudget,
		});
	}

	/** What `/strata cost` begins and ends with. */
	async cost(session: SessionView): Promise<{ head: string[]; tail: string[] }> {
		const account = await accountOf(session);
		if (account.requests.length === 0) return { head: [], tail: [] };
		const { modelsText, sessionCost, turnsText } = await import("./saved-text.ts");
		const mark = account.isDemo ? "; the prices of the demo are made up" : "";
		return {
			head: [`${sessionCost(account)}${mark}`],
			tail: [
				...turnsText(account),
				...modelsText(account),
				"all sessions by day, project or model: strata usage --by project",
			],
		};
	}

	/** For `/kota pruning`; `undefined` if no bill shows any effect of it. */
	async byPruning(session: SessionView) {
		const { totals, isDemo } = await accountOf(session);
		return totals.saved?.pruning && { ...totals.saved.pruning, isMadeUp: isDemo };
	}

	async #warn({ ui }: SessionView, budget: number): Promise<void> {
		const { booked = 0, running = 0 } = this.#spent ?? {};
		const dollars = booked + running;
		const reached = WARNINGS.filter((share) => dollars >= share * budget).length;
		if (reached <= this.#warned) return;
		this.#warned = reached;
		const { budgetText } = await import("./saved-text.ts");
		const text = budgetText({ requests: 0, dollars, unpriced: 0, saved: {} }, budget);
		ui.notify(`pi-strata: ${text}. See economy.dailyBudget in strata.json.`, "warning");
	}

	async #sums(): Promise<{ today: BookSums; all: BookSums } | undefined> {
		const { dayOf } = await import("../usage/saved-book.ts");
		return await this.#use((book) => ({ today: book.sums(dayOf(Date.now())), all: book.sums() }));
	}

	/** A book that cannot be used never disturbs a run: `/strata` says why. */
	async #use<Result>(use: (book: SavedBook) => Result): Promise<Result | undefined> {
		try {
			if (!this.#book) {
				const { SavedBook } = await import("../usage/saved-book.ts");
				const opened = await SavedBook.open(this.#agentDir);
				if (typeof opened === "string") throw new Error(opened);
				this.#book = opened;
			}
			return use(this.#book);
		} catch (error) {
			this.#failure = describeError(error);
			return undefined;
		}
	}

	/** Without the account, which is the longest part of opening a long session. */
	async #showWord(session: SessionView): Promise<void> {
		const { statusWord } = await import("./saved-text.ts");
		const { outOfView } = await import("./session-account.ts");
		session.ui.setStatus("strata", statusWord(session.window, outOfView(session)));
	}
}

/** Loaded on demand: a session that ends before its first run needs none of it. */
async function accountOf(session: SessionView): Promise<SessionAccount> {
	const { sessionAccount } = await import("./session-account.ts");
	return sessionAccount(session);
}
