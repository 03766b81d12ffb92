import type { Identities } from "./identities.ts";
import type { Failure } from "./outcome.ts";
import type { Run } from "./run.ts";

/**
 * Looks at what a new command depends on. Returns the failure it ends with at once, or `undefined` after noting in
 * `run.dependencies` what it has to wait for.
 *
 * A dependency must be known, so it always leads to a command that came earlier. A command also waits for its lane, that
 * is again for earlier ones. Hence nothing can wait in a circle: who names itself is told so here, and who names a
 * command that comes later names one that is not known yet. Throws when the journal cannot be read.
 */
export function resolveDependencies(run: Run, identities: Identities): Failure | undefined {
	const { command, seat } = run.request;
	if (command.dependsOn === undefined) return undefined;
	for (const id of new Set(command.dependsOn)) {
		if (id === command.id) {
			const error = `the command depends on itself: "${id}" is its own id`;
			return { code: "dependency_cycle", error };
		}
		const known = identities.byId(seat.tenant, id);
		if (known === undefined) return unknownDependency(id);
		if (known.kind === "run") (run.dependencies ??= new Set()).add(known);
		else if (!known.outcome.response.success) return failedDependency(id);
	}
	for (const dependency of run.dependencies ?? []) (dependency.dependents ??= new Set()).add(run);
	return undefined;
}

/** The command waits for nothing any more. */
export function dropDependencies(run: Run): void {
	for (const dependency of run.dependencies ?? []) dependency.dependents?.delete(run);
	run.dependencies = undefined;
}

/** Whether a command waits for one that the control path does not wait for. */
export function waitsForSlow(run: Run): boolean {
	for (const dependency of run.dependencies ?? []) {
		if (dependency.slow || dependency.lane?.isBehindSlow(dependency)) return true;
	}
	return false;
}

function unknownDependency(id: string): Failure {
	return {
		code: "dependency_unknown",
		error: `dependency "${id}" is not known: a command can depend on commands that were sent before it, with an id`,
	};
}

/** The failure of a command whose dependency failed. */
export function failedDependency(id: string): Failure {
	return { code: "dependency_failed", error: `dependency "${id}" failed` };
}
