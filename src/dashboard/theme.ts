import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "strata.theme";
const ORDER: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(stored());

export function applyTheme(): void {
	document.documentElement.dataset.theme = theme.value;
}

export function nextTheme(): void {
	theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? "system";
	applyTheme();
	try {
		localStorage.setItem(KEY, theme.value);
	} catch {
		// A browser without storage still shows the colours.
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
