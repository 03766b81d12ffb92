/** A text of the browser's storage. Storage may be forbidden or full: then a text lasts until a reload. */
export function storedText(
	key: string,
	area: "sessionStorage" | "localStorage" = "sessionStorage",
) {
	return {
		read(): string {
			try {
				return globalThis[area].getItem(key) ?? "";
			} catch {
				return "";
			}
		},
		write(text: string): void {
			try {
				if (text === "") globalThis[area].removeItem(key);
				else globalThis[area].setItem(key, text);
			} catch {
				// See above.
			}
		},
	};
}
