import type { AgentToolResult, Theme, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { callEffect } from "../text/call-effect.ts";

export type Renderers = Pick<ToolDefinition, "renderCall" | "renderResult">;

/** Pi shares this object among the renders of one call. The times are pi's own, of shells. */
interface RowState {
	strataCall?: Component;
	strataEffect?: string;
	startedAt?: number;
	endedAt?: number;
}

/** Adds what a call did to its first line: `read cart.ts · unchanged, 20 lines not sent`. */
export function withEffect(tool: string, renderers: Renderers): Renderers {
	const { renderCall, renderResult } = renderers;
	if (!renderCall || !renderResult) return renderers;
	return {
		renderCall(args, theme, context) {
			const state = context.state as RowState;
			const lastComponent = state.strataCall;
			state.strataCall = renderCall(args, theme, { ...context, lastComponent });
			return new EffectLine(state.strataCall, state, theme);
		},
		renderResult(result, options, theme, context) {
			const state = context.state as RowState;
			const rendered = renderResult(result, options, theme, context);
			if (!options.isPartial) {
				state.strataEffect = effectOf(tool, context.args, result, context.isError, state);
			}
			return rendered;
		},
	};
}

function effectOf(
	tool: string,
	args: unknown,
	{ content, details }: AgentToolResult<unknown>,
	isError: boolean,
	{ startedAt, endedAt }: RowState,
): string {
	const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
	const isTimed = startedAt !== undefined && endedAt !== undefined;
	const time = isTimed ? { durationMs: endedAt - startedAt } : {};
	return callEffect({ tool, args, details, text, isError, ...time }).join(" · ");
}

/** The line of the call, with the effect behind it; on a line of its own if it does not fit. */
class EffectLine implements Component {
	readonly #call: Component;
	readonly #state: RowState;
	readonly #theme: Theme;

	constructor(call: Component, state: RowState, theme: Theme) {
		this.#call = call;
		this.#state = state;
		this.#theme = theme;
	}

	invalidate(): void {
		this.#call.invalidate();
	}

	render(width: number): string[] {
		const lines = this.#call.render(width);
		const { strataEffect } = this.#state;
		const last = lines.at(-1)?.trimEnd();
		if (!strataEffect || last === undefined) return lines;
		const effect = this.#theme.fg("muted", ` · ${strataEffect}`);
		const joined = last + effect;
		if (visibleWidth(joined) > width) return [...lines, truncateToWidth(effect, width)];
		return [...lines.slice(0, -1), joined];
	}
}
