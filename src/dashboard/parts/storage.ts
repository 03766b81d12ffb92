export type StoredText = ReturnType<typeof storedText>;

type TextStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** A text of the browser's storage, by default for as long as the tab is open. Without storage, or room in it, it lasts until a reload. */
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
