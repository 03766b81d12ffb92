import { counted } from "../../text/figures.ts";
import type { ImpactAnswer } from "../answers.ts";
import type { IndexedFile } from "../reader.ts";
import type { UsedExport } from "./exports-used.ts";
import type { ImpactWarnings } from "./impact-warnings.ts";
import type { Reached } from "./reach.ts";
import type { TestOf } from "./tests-of.ts";

/** What is known of a change. */
export interface ChangeFacts {
	readonly changed: readonly IndexedFile[];
	/** How many files come into being. */
	readonly created: number;
	readonly affected: readonly Reached[];
	readonly used: readonly UsedExport[];
	readonly tests: readonly TestOf[];
	readonly warnings: ImpactWarnings;
}

/** How much can go wrong, with the reasons in words. The limits are rules of thumb. */
export function assessRisk(change: ChangeFacts): Pick<ImpactAnswer, "risk" | "summary"> {
	const reasons = reasonsOf(change);
	const weight = reasons.reduce((sum, reason) => sum + reason.weight, 0);
	const risk = weight >= 3 ? "high" : weight >= 1 ? "medium" : "low";
	const because = reasons.map(({ text }) => text).join("; ");
	return {
		risk,
		summary: `${reachOf(change)} Risk ${risk}: ${because || "little rests on it"}.`,
	};
}

interface Reason {
	readonly weight: number;
	readonly text: string;
}

function reasonsOf({ changed, affected, used, tests, warnings }: ChangeFacts): Reason[] {
	const direct = affected.filter(({ depth }) => depth === 1).length;
	const reasons: (Reason | false | undefined)[] = [
		warnings.brokenImports > 0 && {
			weight: 3,
			text: `${counted(warnings.brokenImports, "import")} will break`,
		},
		affected.length >= 100
			? { weight: 2, text: `${affected.length} files rest on it` }
			: affected.length >= 15 && { weight: 1, text: `${affected.length} files rest on it` },
		direct >= 30 && { weight: 1, text: `${direct} of them directly` },
		mostUsed(used),
		affected.length > 0 && tests.length === 0 && { weight: 1, text: "no test reaches it" },
		warnings.globalFiles > 0 && { weight: 1, text: "who uses its global names is not known" },
		changed.length === 0 && affected.length === 0 && { weight: 0, text: "nothing asks for it yet" },
	];
	return reasons.filter((reason) => reason !== undefined && reason !== false);
}

function mostUsed([most]: readonly UsedExport[]): Reason | undefined {
	if (!most || most.users.size < 10) return undefined;
	return { weight: 1, text: `${most.name} is used in ${most.users.size} other files` };
}

function reachOf({ changed, created, affected, tests }: ChangeFacts): string {
	const direct = affected.filter(({ depth }) => depth === 1).length;
	const what = [
		changed.length > 0 && `Changing ${counted(changed.length, "file")}`,
		created > 0 && `creating ${counted(created, "file")}`,
	]
		.filter((text) => text !== false)
		.join(" and ");
	const reached =
		affected.length === 0
			? "reaches no other file"
			: `reaches ${counted(affected.length, "file")} (${direct} directly)`;
	return `${capitalised(what)} ${reached} and ${counted(tests.length, "test")}.`;
}

function capitalised(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
