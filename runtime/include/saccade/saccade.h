// Everything of saccade::saccade. Start reading at graph.h.
#pragma once

#include "saccade/attention.h"
#include "saccade/batch.h"
#include "saccade/context.h"
#include "saccade/executor.h"
#include "saccade/graph.h"
#include "saccade/linear_backend.h"
#include "saccade/machine.h"
#include "saccade/plan.h"
#include "saccade/status.h"
#include "saccade/tensor.h"
#include "saccade/trace.h"
#include "saccade/version.h"
