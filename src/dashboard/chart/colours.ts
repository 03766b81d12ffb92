/** What a chart is painted with. A canvas knows no CSS variables, so they are resolved for it. */
export interface ChartColours {
	text: string;
	grid: string;
	font: string;
	/** The colour of a CSS variable, such as `--series-1`, in a form that a canvas takes. */
	of(variable: string): string;
}

/** Reads the colours as they are now where `element` stands. */
export function coloursAt(element: HTMLElement): ChartColours {
	// A variable read directly is its text, maybe `light-dark(…)`; as the colour of something it is one colour.
	const probe = document.createElement("span");
	probe.hidden = true;
	element.append(probe);
	const of = (variable: string) => {
		probe.style.color = `var(${variable})`;
		return getComputedStyle(probe).color;
	};
	const family = getComputedStyle(element).fontFamily;
	const found = new Map(
		["--text-soft", "--line", "--bad", ...SERIES].map((variable) => [variable, of(variable)]),
	);
	probe.remove();
	return {
		text: found.get("--text-soft") ?? "gray",
		grid: found.get("--line") ?? "gray",
		font: `11px ${family}`,
		of: (variable) => found.get(variable) ?? "gray",
	};
}

/** The variables for the rows of a chart. */
export const SERIES = Array.from({ length: 8 }, (_, at) => `--series-${at + 1}`);
