export type StoredText = ReturnType<typeof storedText>;

type TextStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** A text in the browser's storage, by default for the life of the tab. If storage is denied or full, nothing survives a reload. */
export function storedText(key: string, storage: () => TextStorage = () => sessionStorage) {
	return {
		read(): string {
			try {
				return storage().getItem(key) ?? "";
			} catch {
				return "";
			}
		},
		write(text: string): void {
			try {
				if (text === "") storage().removeItem(key);
				else storage().setItem(key, text);
			} catch {
				// See above.
			}
		},
	};
}
