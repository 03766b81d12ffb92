import { signal } from "@preact/signals";

/** `system` follows the operating system. */
export type Theme = "system" | "light" | "dark";

const KEY = "strata.theme";
const ORDER: readonly Theme[] = ["system", "light", "dark"];

/** The chosen colours. */
export const theme = signal<Theme>(stored());

/** Makes the chosen colours those of the page. */
export function applyTheme(): void {
	document.documentElement.dataset.theme = theme.value;
}

/** From one choice to the next, remembered for the next visit. */
export function nextTheme(): void {
	theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? "system";
	applyTheme();
	try {
		localStorage.setItem(KEY, theme.value);
	} catch {
		// A browser that keeps nothing still shows the colours.
	}
}

function stored(): Theme {
	try {
		const kept = localStorage.getItem(KEY) as Theme;
		return ORDER.includes(kept) ? kept : "system";
	} catch {
		return "system"; // storage may be forbidden
	}
}
