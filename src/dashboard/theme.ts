import { signal } from "@preact/signals";
import { storedText } from "./parts/storage.ts";

const stored = storedText("strata.theme", () => localStorage);
const ORDER = ["system", "light", "dark"] as const;

export const theme = signal(ORDER.find((name) => name === stored.read()) ?? "system");

export function applyTheme(): void {
	document.documentElement.style.colorScheme = theme.value === "system" ? "" : theme.value;
}

export function nextTheme(): void {
	theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? "system";
	applyTheme();
	stored.write(theme.value);
}
