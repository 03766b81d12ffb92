export type StoredText = ReturnType<typeof storedText>;

type TextStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Text in browser storage, by default until the tab closes. It is lost if storage is denied or full. */
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
				// Storage is denied or full: a reload loses the text.
			}
		},
	};
}
