import {
	type AgentToolResult,
	type ExtensionAPI,
	keyHint,
	type Theme,
	type ToolDefinition,
	type ToolRenderResultOptions,
} from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { BRIEFING_ENTRY, REPORT_ENTRY } from "../core/entry-types.ts";
import { property } from "../core/property.ts";
import { type Renderers, withEffect } from "./effect-line.ts";

export function renderersOf(name: string): Pick<ToolDefinition, "renderCall" | "renderResult"> {
	if (!name.startsWith("kota_")) return {};
	return {
		renderCall: (args, theme) => renderKotaCall(name, args, theme),
		renderResult: renderKotaResult,
	};
}

export function registerRenderers(pi: ExtensionAPI): void {
	pi.registerEntryRenderer<{ text?: string }>(
		REPORT_ENTRY,
		(entry) => new Text(entry.data?.text ?? "", 1, 0),
	);
	pi.registerMessageRenderer(BRIEFING_ENTRY, ({ content }, { expanded }, theme) => {
		if (typeof content !== "string") return undefined;
		const lines = content.replace(/[^\P{Cc}\n]/gu, "").split("\n");
		const shown = expanded ? lines.join("\n") : lines[0];
		return new Text(theme.fg("muted", `kota: ${shown}`), 1, 0);
	});
}

/** Pi's tools whose calls say what they did. `read` is our own. */
const WITH_EFFECT: ReadonlySet<string> = new Set(["bash", "powershell", "edit", "write"]);

type Resolver = (toolName: string, next: () => Renderers | undefined) => Renderers | undefined;

type RegisterResolver = (resolver: Resolver) => void;

/** Since pi 1.5, an extension can draw the calls of other tools. */
export function drawsOtherTools(pi: ExtensionAPI): boolean {
	return typeof property(pi, "registerToolRenderer") === "function";
}

export function showEffects(pi: ExtensionAPI): void {
	if (!drawsOtherTools(pi)) return;
	const register = property(pi, "registerToolRenderer") as RegisterResolver;
	register.call(pi, (toolName, next) => {
		const own = next();
		return own && WITH_EFFECT.has(toolName) ? { ...own, ...withEffect(toolName, own) } : own;
	});
}

/** Lines shown while the answer is folded. */
const FOLDED_LINES = 4;
const ARGUMENT_CHARS = 120;

function renderKotaCall(name: string, args: unknown, theme: Theme): Text {
	const title = theme.fg("toolTitle", theme.bold(name));
	const about = subject(args);
	return new Text(about ? `${title} ${theme.fg("accent", about)}` : title, 0, 0);
}

function renderKotaResult(
	result: AgentToolResult<unknown>,
	{ expanded, isPartial }: ToolRenderResultOptions,
	theme: Theme,
): Text {
	const lines = result.content
		.flatMap((block) => (block.type === "text" ? block.text.split("\n") : []))
		.map(visible);
	if (isPartial) return new Text(theme.fg("muted", lines.join("\n")), 0, 0);
	const shown = expanded ? lines : lines.slice(0, FOLDED_LINES);
	const hidden = lines.length - shown.length;
	const notes = [
		...(hidden > 0 ? [`${hidden} more lines, ${keyHint("app.tools.expand", "to expand")}`] : []),
		...(property(result.details, "truncated") === true ? [shortened(result.details)] : []),
	];
	const text = [
		...shown.map((line) => theme.fg("toolOutput", line)),
		...(notes.length > 0 ? [theme.fg("muted", `… ${notes.join("; ")}`)] : []),
	];
	return new Text(text.join("\n"), 0, 0);
}

/** Arguments are streamed, so any of them may be missing or have the wrong type. */
function subject(args: unknown): string {
	const named = ["query", "symbol", "file_path", "path"].map((name) => property(args, name));
	const lists = ["files", "files_to_modify", "files_to_create", "files_to_delete"].flatMap((name) =>
		[property(args, name) ?? []].flat(),
	);
	const words = [...named, ...lists].filter((word) => typeof word === "string" && word !== "");
	const text = visible(words.join(", "));
	return text.length > ARGUMENT_CHARS ? `${text.slice(0, ARGUMENT_CHARS).toWellFormed()}…` : text;
}

function shortened(details: unknown): string {
	const path = property(details, "blobPath");
	const bytes = Number(property(details, "originalBytes"));
	const size = `shortened from ${(bytes / 1000).toFixed(1)} KB`;
	return typeof path === "string" ? `${size}, whole answer: ${visible(path)}` : size;
}

/** Replaces characters that could control the terminal. */
function visible(text: string): string {
	return text.replaceAll("\t", "    ").replace(/\p{Cc}/gu, "�");
}
