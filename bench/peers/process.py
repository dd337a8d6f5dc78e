"""A worker process that computes only in its turn: stopped by signal otherwise, so that spinning threads disturb nobody."""
import os
import signal
import subprocess


class Failed(Exception):
    """The rival answered with an error, or its process is gone."""


class Process:
    def __init__(self, command, threads, log):
        foreign = ("OMP_", "MKL_", "OPENBLAS_", "KMP_", "GOMP_", "SACCADE_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        environment.update(OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
        self.log = log
        with open(log, "w", encoding="utf-8") as errors:
            # A group of its own: Ctrl-C is for the driver, which ends its workers.
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                                          env=environment, process_group=0)

    def ask(self, *words):
        """One command; the words of its answer."""
        self.child.send_signal(signal.SIGCONT)
        try:
            self.child.stdin.write(" ".join(map(str, words)) + "\n")
            self.child.stdin.flush()
            answer = self.child.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Failed(f"ended with {self.child.wait()}: {self.last_words()}")
        self.child.send_signal(signal.SIGSTOP)
        state, _, text = answer.strip().partition(" ")
        if state != "ok":
            raise Failed(text)
        return text

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return lines[-1][:300] if lines else "no message"

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
