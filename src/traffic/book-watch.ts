import { statSync } from "node:fs";
import { Book, bookFile } from "./book.ts";
import type { BookedStep } from "./book-rows.ts";

interface Watched {
	readonly file: string;
	readonly book: Book;
	version: number;
	/** The number of the last request that was reported. */
	last: number;
}

interface BookNews {
	/** The oldest first. */
	readonly requests: readonly BookedStep[];
	/** There are more, which are older. */
	readonly isPartial: boolean;
}

const NONE: BookNews = { requests: [], isPartial: false };

/** Reports requests that other processes write into the book in `folder`, which may come and go. */
export class BookWatch {
	readonly #folder: string;
	#watched: Watched | undefined;
	#isStarted = false;

	constructor(folder: string) {
		this.#folder = folder;
	}

	/** From here on, `news` reports what is not yet in the book. */
	async start(): Promise<void> {
		this.#isStarted = true;
		const watched = await this.#open();
		if (watched) watched.last = watched.book.lastRequest();
	}

	/** The requests since the last call, or since `start`; after many, only the latest `limit`. */
	async news(limit: number): Promise<BookNews> {
		if (!this.#isStarted) await this.start();
		const watched = await this.#open();
		if (!watched) return NONE;
		const version = watched.book.version();
		if (version === watched.version) return NONE;
		const requests = watched.book.stepsAfter(watched.last, limit + 1);
		watched.version = version;
		watched.last = requests.at(-1)?.id ?? watched.last;
		return { requests: requests.slice(-limit), isPartial: requests.length > limit };
	}

	close(): void {
		this.#watched?.book.close();
		this.#watched = undefined;
	}

	/** Another file under the same name is another book: its requests are all new. */
	async #open(): Promise<Watched | undefined> {
		const found = statSync(bookFile(this.#folder), { bigint: true, throwIfNoEntry: false });
		const file = found && `${found.dev} ${found.ino}`;
		if (file === this.#watched?.file) return this.#watched;
		this.close();
		const book = file === undefined ? undefined : await Book.openForReading(this.#folder);
		if (file !== undefined && book) this.#watched = { file, book, version: -1, last: 0 };
		return this.#watched;
	}
}
